"""Programs that the forge does not have: they join its models.py, whose helpers they use, and are compiled as its own are."""
# The names below come from the forge's models.py, behind which this text is put.
# ruff: noqa: F821


def _shardings(tree):
    return jax.tree.map(lambda leaf: leaf.sharding, tree)


def _constrain(mesh):
    return lambda x, *spec: lax.with_sharding_constraint(x, NamedSharding(mesh, P(*spec)))


def _norm(x):
    v = x.astype(F32)
    return (v * lax.rsqrt(jnp.mean(jnp.square(v), -1, keepdims=True) + 1e-6)).astype(BF16)


def _attend(q, k, v):
    with jax.named_scope("attention"):
        s = jnp.einsum("bqhd,bkhd->bhqk", q, k).astype(F32) / math.sqrt(q.shape[-1])
        return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(s, -1).astype(BF16), v)


def _sgd(params, grads, rate=1e-3):
    with jax.named_scope("optimizer"):
        return jax.tree.map(lambda p, g: p - rate * g, params, grads)


def _momentum(params, state, grads):
    with jax.named_scope("optimizer"):
        state = jax.tree.map(lambda m, g: 0.9 * m + g, state, grads)
        return jax.tree.map(lambda p, m: p - 1e-3 * m, params, state), state


def diffusion(topo, *, width, img, batch, dp, heads):
    """A U-Net that predicts noise: convolutions down and up, attention in the middle, data parallel."""
    mesh = mesh_of(topo, (dp,), ("data",))
    w = width
    shapes = {"in": (3, 3, 4, w), "down0": (3, 3, w, w), "down1": (3, 3, w, 2 * w), "mid0": (3, 3, 2 * w, 2 * w), "qkv": (2 * w, 6 * w),
              "proj": (2 * w, 2 * w), "mid1": (3, 3, 2 * w, 2 * w), "up0": (3, 3, 4 * w, w), "up1": (3, 3, 2 * w, w), "out": (3, 3, w, 4),
              "time": (256, 2 * w)}
    p = {name: sds(mesh, shape, F32) for name, shape in shapes.items()}
    b = {"x": sds(mesh, (batch, img, img, 4), BF16, "data"), "t": sds(mesh, (batch, 256), BF16, "data"),
         "noise": sds(mesh, (batch, img, img, 4), BF16, "data")}

    def conv(x, k, stride=1):
        return lax.conv_general_dilated(x, k.astype(BF16), (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def twice(x):
        return jnp.repeat(jnp.repeat(x, 2, 1), 2, 2)

    def predict(p, b):
        with jax.named_scope("encoder"):
            a = jax.nn.silu(_norm(conv(b["x"], p["in"])))
            c = jax.nn.silu(_norm(conv(a, p["down0"], 2)))
            h = jax.nn.silu(_norm(conv(c, p["down1"], 2)))
            h = h + (b["t"] @ p["time"].astype(BF16))[:, None, None, :]
        with jax.named_scope("middle"):
            h = h + jax.nn.silu(_norm(conv(h, p["mid0"])))
            n, y, x, d = h.shape
            qkv = (_norm(h).reshape(n, y * x, d) @ p["qkv"].astype(BF16)).reshape(n, y * x, 3, heads, d // heads)
            att = _attend(qkv[:, :, 0], qkv[:, :, 1], qkv[:, :, 2]).reshape(n, y * x, d)
            h = h + (att @ p["proj"].astype(BF16)).reshape(h.shape)
            h = h + jax.nn.silu(_norm(conv(h, p["mid1"])))
        with jax.named_scope("decoder"):
            h = jnp.concatenate([twice(h), c, jax.nn.relu(c)], -1)
            h = jax.nn.silu(_norm(conv(h, p["up0"])))
            h = jnp.concatenate([twice(h), a], -1)
            return conv(jax.nn.silu(_norm(conv(h, p["up1"]))), p["out"])

    def denoise_step(params, state, b):
        loss, g = jax.value_and_grad(lambda q: jnp.mean(jnp.square((predict(q, b) - b["noise"]).astype(F32))))(params)
        return *_momentum(params, state, g), loss

    sh = _shardings(p)
    return denoise_step, (p, p, b), dict(donate_argnums=(0, 1), out_shardings=(sh, sh, NamedSharding(mesh, P())))


def translate(topo, *, layers, d, heads, ff, vocab, batch, src, tgt, data, tensor):
    """An encoder and a decoder that attends to it, on a mesh of two axes."""
    mesh = mesh_of(topo, (data, tensor), ("data", "tensor"))
    hd, wsc = d // heads, _constrain(mesh)
    att = {"qkv": sds(mesh, (layers, d, 3, heads, hd), F32, None, "data", None, "tensor", None),
           "o": sds(mesh, (layers, heads, hd, d), F32, None, "tensor", None, "data")}
    mlp = {"wi": sds(mesh, (layers, d, ff), F32, None, "data", "tensor"), "wo": sds(mesh, (layers, ff, d), F32, None, "tensor", "data")}
    p = {"embed": sds(mesh, (vocab, d), F32, "tensor", "data"), "enc": {"att": att, "mlp": mlp},
         "dec": {"att": att, "cross": att, "mlp": mlp}}
    b = {"src": sds(mesh, (batch, src), I32, "data", None), "tgt": sds(mesh, (batch, tgt), I32, "data", None)}

    def attention(x, y, lp, causal):
        h, m = _norm(x), _norm(y)
        w = lp["qkv"].astype(BF16)
        q = jnp.einsum("bsd,dhk->bshk", h, w[:, 0])
        k, v = jnp.einsum("bsd,dhk->bshk", m, w[:, 1]), jnp.einsum("bsd,dhk->bshk", m, w[:, 2])
        a = causal_attention(q, k, v) if causal else _attend(q, k, v)
        return wsc(x + jnp.einsum("bshk,hkd->bsd", a, lp["o"].astype(BF16)), "data", None, None)

    def feed(x, lp):
        h = jax.nn.gelu(jnp.einsum("bsd,df->bsf", _norm(x), lp["wi"].astype(BF16)))
        return wsc(x + jnp.einsum("bsf,fd->bsd", h, lp["wo"].astype(BF16)), "data", None, None)

    def loss_of(p, b):
        table = p["embed"].astype(BF16)

        def encoder(x, lp):
            with jax.named_scope("encoder_layer"):
                return feed(attention(x, x, lp["att"], False), lp["mlp"]), None

        def decoder(carry, lp):
            x, memory = carry
            with jax.named_scope("decoder_layer"):
                x = attention(x, x, lp["att"], True)
                x = attention(x, memory, lp["cross"], False)
                return (feed(x, lp["mlp"]), memory), None

        memory, _ = lax.scan(jax.checkpoint(encoder), wsc(table[b["src"]], "data", None, None), p["enc"])
        (x, _), _ = lax.scan(jax.checkpoint(decoder), (wsc(table[b["tgt"]], "data", None, None), memory), p["dec"])
        with jax.named_scope("logits"):
            lg = wsc(jnp.einsum("bsd,vd->bsv", _norm(x), table).astype(F32), "data", None, "tensor")
        return jnp.mean(jax.nn.logsumexp(lg, -1) - jnp.take_along_axis(lg, b["tgt"][..., None], -1)[..., 0])

    def seq2seq_step(params, state, b):
        loss, g = jax.value_and_grad(loss_of)(params, b)
        return *_momentum(params, state, g), loss

    sh = _shardings(p)
    return seq2seq_step, (p, p, b), dict(donate_argnums=(0, 1), out_shardings=(sh, sh, NamedSharding(mesh, P())))


def recommend(topo, *, tables, rows, d, dense, hidden, batch, chips):
    """Embeddings that lie split over the chips, exchanged for the batch, and a data-parallel MLP."""
    mesh = mesh_of(topo, (chips,), ("shard",))
    own = tables // chips
    width = tables * d + 64
    p = {"tables": sds(mesh, (tables, rows, d), F32, "shard", None, None), "bottom": sds(mesh, (dense, 64), F32),
         "top": [sds(mesh, s, F32) for s in ((width, hidden), (hidden, hidden), (hidden, hidden // 2), (hidden // 2, 1))]}
    b = {"ids": sds(mesh, (tables, batch), I32, "shard", None), "dense": sds(mesh, (batch, dense), F32, "shard", None),
         "label": sds(mesh, (batch,), F32, "shard")}

    def exchange(table, ids):
        with jax.named_scope("lookup"):
            found = jax.vmap(lambda t, i: t[i])(table, ids).astype(BF16)
        with jax.named_scope("dispatch"):
            found = found.reshape(own, chips, batch // chips, d).transpose(1, 0, 2, 3)
            found = lax.all_to_all(found, "shard", 0, 0, tiled=False)
            return found.transpose(2, 0, 1, 3).reshape(batch // chips, tables * d)

    lookup = jax.shard_map(exchange, mesh=mesh, check_vma=False, in_specs=(P("shard", None, None), P("shard", None)),
                           out_specs=P("shard", None))

    def loss_of(p, b):
        x = lookup(p["tables"], b["ids"])
        with jax.named_scope("mlp"):
            x = jnp.concatenate([x, jax.nn.relu(b["dense"].astype(BF16) @ p["bottom"].astype(BF16))], -1)
            for w in p["top"][:-1]:
                x = jax.nn.relu(x @ w.astype(BF16))
            y = (x @ p["top"][-1].astype(BF16))[:, 0].astype(F32)
        return jnp.mean(jnp.maximum(y, 0) - y * b["label"] + jnp.log1p(jnp.exp(-jnp.abs(y))))

    def ranking_step(params, b):
        loss, g = jax.value_and_grad(loss_of)(params, b)
        return _sgd(params, g), loss

    return ranking_step, (p, b), dict(donate_argnums=(0,), out_shardings=(_shardings(p), NamedSharding(mesh, P())))


def vit(topo, *, layers, d, heads, img, patch, batch, classes, fsdp):
    """Patches of images through encoder layers, weights split over all chips."""
    mesh = mesh_of(topo, (fsdp,), ("fsdp",))
    hd, n, wsc = d // heads, (img // patch) ** 2, _constrain(mesh)
    p = {"patch": sds(mesh, (patch * patch * 3, d), F32, None, "fsdp"), "pos": sds(mesh, (n, d), F32, None, "fsdp"),
         "head": sds(mesh, (d, classes), F32, "fsdp", None),
         "layers": {"qkv": sds(mesh, (layers, d, 3, heads, hd), F32, None, "fsdp"), "o": sds(mesh, (layers, heads, hd, d), F32, None, None, None, "fsdp"),
                    "wi": sds(mesh, (layers, d, 4 * d), F32, None, "fsdp", None), "wo": sds(mesh, (layers, 4 * d, d), F32, None, None, "fsdp")}}
    b = {"image": sds(mesh, (batch, img, img, 3), BF16, "fsdp"), "label": sds(mesh, (batch,), I32, "fsdp")}

    def layer(x, lp):
        with jax.named_scope("vit_layer"):
            qkv = jnp.einsum("bsd,dthk->tbshk", _norm(x), lp["qkv"].astype(BF16))
            x = x + jnp.einsum("bshk,hkd->bsd", _attend(qkv[0], qkv[1], qkv[2]), lp["o"].astype(BF16))
            h = jax.nn.gelu(jnp.einsum("bsd,df->bsf", _norm(x), lp["wi"].astype(BF16)))
            return wsc(x + jnp.einsum("bsf,fd->bsd", h, lp["wo"].astype(BF16)), "fsdp", None, None), None

    def loss_of(p, b):
        s = img // patch
        x = b["image"].reshape(batch, s, patch, s, patch, 3).transpose(0, 1, 3, 2, 4, 5).reshape(batch, n, -1)
        x = x @ p["patch"].astype(BF16) + p["pos"].astype(BF16)
        x, _ = lax.scan(jax.checkpoint(layer), wsc(x, "fsdp", None, None), p["layers"])
        lg = _norm(x).mean(1).astype(F32) @ p["head"]
        return jnp.mean(jax.nn.logsumexp(lg, -1) - jnp.take_along_axis(lg, b["label"][:, None], -1)[:, 0])

    def vit_step(params, state, b):
        loss, g = jax.value_and_grad(loss_of)(params, b)
        return *_momentum(params, state, g), loss

    sh = _shardings(p)
    return vit_step, (p, p, b), dict(donate_argnums=(0, 1), out_shardings=(sh, sh, NamedSharding(mesh, P())))


def ssm(topo, *, layers, d, state, batch, seq, vocab, dp):
    """Layers of a diagonal state-space model: an associative scan along the sequence in place of attention."""
    mesh = mesh_of(topo, (dp,), ("data",))
    p = {"embed": sds(mesh, (vocab, d), F32),
         "layers": {"in": sds(mesh, (layers, d, 4 * d), F32), "gate": sds(mesh, (layers, 2 * d, state), F32),
                    "back": sds(mesh, (layers, state, 2 * d), F32), "decay": sds(mesh, (layers, state), F32), "out": sds(mesh, (layers, 2 * d, d), F32)}}
    b = {"tokens": sds(mesh, (batch, seq), I32, "data", None), "targets": sds(mesh, (batch, seq), I32, "data", None)}

    def layer(x, lp):
        with jax.named_scope("mamba_layer"):
            u, z = jnp.split(_norm(x) @ lp["in"].astype(BF16), 2, -1)
            with jax.named_scope("scan"):
                v = (u @ lp["gate"].astype(BF16)).astype(F32)
                a = jnp.broadcast_to(jax.nn.sigmoid(lp["decay"]), v.shape)
                _, h = lax.associative_scan(lambda i, j: (i[0] * j[0], j[0] * i[1] + j[1]), (a, v), axis=1)
            y = u + h.astype(BF16) @ lp["back"].astype(BF16)
            return x + (y * jax.nn.silu(z)) @ lp["out"].astype(BF16), None

    def loss_of(p, b):
        x, _ = lax.scan(jax.checkpoint(layer), p["embed"].astype(BF16)[b["tokens"]], p["layers"])
        with jax.named_scope("logits"):
            lg = jnp.einsum("bsd,vd->bsv", _norm(x), p["embed"].astype(BF16)).astype(F32)
        return jnp.mean(jax.nn.logsumexp(lg, -1) - jnp.take_along_axis(lg, b["targets"][..., None], -1)[..., 0])

    def mamba_step(params, state, b):
        loss, g = jax.value_and_grad(loss_of)(params, b)
        return *_momentum(params, state, g), loss

    sh = _shardings(p)
    return mamba_step, (p, p, b), dict(donate_argnums=(0, 1), out_shardings=(sh, sh, NamedSharding(mesh, P())))


def lora(topo, *, layers, d, heads, ff, vocab, rank, batch, seq, data, tensor):
    """A frozen model in 16 bits, split over one axis, whose adapters of low rank learn."""
    mesh = mesh_of(topo, (data, tensor), ("data", "tensor"))
    hd, wsc = d // heads, _constrain(mesh)
    frozen = {"embed": sds(mesh, (vocab, d), BF16, "tensor", None),
              "layers": {"qkv": sds(mesh, (layers, d, 3, heads, hd), BF16, None, None, None, "tensor", None),
                         "o": sds(mesh, (layers, heads, hd, d), BF16, None, "tensor", None, None),
                         "wi": sds(mesh, (layers, d, ff), BF16, None, None, "tensor"), "wo": sds(mesh, (layers, ff, d), BF16, None, "tensor", None)}}
    adapt = {"a": sds(mesh, (layers, d, rank), F32), "b": sds(mesh, (layers, rank, 3, heads, hd), F32, None, None, None, "tensor", None),
             "c": sds(mesh, (layers, d, rank), F32), "e": sds(mesh, (layers, rank, ff), F32, None, None, "tensor")}
    b = {"tokens": sds(mesh, (batch, seq), I32, "data", None), "targets": sds(mesh, (batch, seq), I32, "data", None)}

    def layer(x, both):
        lp, ad = both
        with jax.named_scope("decoder_layer"):
            h = _norm(x)
            low = jnp.einsum("bsr,rthk->tbshk", h @ ad["a"].astype(BF16), ad["b"].astype(BF16))
            qkv = jnp.einsum("bsd,dthk->tbshk", h, lp["qkv"]) + low
            x = wsc(x + jnp.einsum("bshk,hkd->bsd", causal_attention(qkv[0], qkv[1], qkv[2]), lp["o"]), "data", None, None)
            h = _norm(x)
            u = h @ lp["wi"] + (h @ ad["c"].astype(BF16)) @ ad["e"].astype(BF16)
            return wsc(x + jax.nn.silu(u) @ lp["wo"], "data", None, None), None

    def finetune_step(frozen, adapters, state, b):
        def loss_of(ad):
            x, _ = lax.scan(jax.checkpoint(layer), wsc(frozen["embed"][b["tokens"]], "data", None, None), (frozen["layers"], ad))
            with jax.named_scope("logits"):
                lg = wsc(jnp.einsum("bsd,vd->bsv", _norm(x), frozen["embed"]).astype(F32), "data", None, "tensor")
            return jnp.mean(jax.nn.logsumexp(lg, -1) - jnp.take_along_axis(lg, b["targets"][..., None], -1)[..., 0])

        loss, g = jax.value_and_grad(loss_of)(adapters)
        return *_momentum(adapters, state, g), loss

    sh = _shardings(adapt)
    return finetune_step, (frozen, adapt, adapt, b), dict(donate_argnums=(1, 2), out_shardings=(sh, sh, NamedSharding(mesh, P())))


def gnn(topo, *, nodes, edges, d, layers, dp):
    """Messages along the edges of a graph, summed by node; each chip has its part of the edges."""
    mesh = mesh_of(topo, (dp,), ("data",))
    p = {"self": sds(mesh, (layers, d, d), F32), "edge": sds(mesh, (layers, d, d), F32), "head": sds(mesh, (d, 64), F32)}
    b = {"x": sds(mesh, (dp * nodes, d), BF16, "data", None), "src": sds(mesh, (dp * edges,), I32, "data"),
         "dst": sds(mesh, (dp * edges,), I32, "data"), "y": sds(mesh, (dp * nodes,), I32, "data")}

    def local(p, x, src, dst, y):
        for i in range(layers):
            with jax.named_scope(f"message_{i}"):
                m = jax.nn.relu(x[src] @ p["edge"][i].astype(BF16))
                agg = jax.ops.segment_sum(m, dst, nodes)
            with jax.named_scope(f"update_{i}"):
                x = jax.nn.relu(x @ p["self"][i].astype(BF16) + _norm(agg))
        lg = x.astype(F32) @ p["head"]
        loss = jnp.mean(jax.nn.logsumexp(lg, -1) - jnp.take_along_axis(lg, y[:, None], -1)[:, 0])
        return lax.pmean(loss, "data")

    total = jax.shard_map(local, mesh=mesh, check_vma=False, in_specs=(P(), P("data", None), P("data"), P("data"), P("data")), out_specs=P())

    def graph_step(params, b):
        loss, g = jax.value_and_grad(lambda q: total(q, b["x"], b["src"], b["dst"], b["y"]))(params)
        return _sgd(params, g), loss

    return graph_step, (p, b), dict(donate_argnums=(0,), out_shardings=(_shardings(p), NamedSharding(mesh, P())))


def context(topo, *, layers, d, heads, kv_heads, ff, vocab, seq, data, ring):
    """Long sequences split over an axis: each chip gathers the keys and values of the others."""
    mesh = mesh_of(topo, (data, ring), ("data", "seq"))
    hd, wsc = d // heads, _constrain(mesh)
    p = {"embed": sds(mesh, (vocab, d), F32, "seq", None),
         "layers": {"q": sds(mesh, (layers, d, heads, hd), F32, None, "seq"), "kv": sds(mesh, (layers, d, 2, kv_heads, hd), F32, None, "seq"),
                    "o": sds(mesh, (layers, heads, hd, d), F32, None, None, None, "seq"), "wi": sds(mesh, (layers, d, ff), F32, None, "seq"),
                    "wo": sds(mesh, (layers, ff, d), F32, None, None, "seq")}}
    b = {"tokens": sds(mesh, (data, seq), I32, "data", "seq"), "targets": sds(mesh, (data, seq), I32, "data", "seq")}

    def layer(x, lp):
        with jax.named_scope("decoder_layer"):
            h = _norm(x)
            q = jnp.einsum("bsd,dhk->bshk", h, lp["q"].astype(BF16))
            kv = wsc(jnp.einsum("bsd,dthk->tbshk", h, lp["kv"].astype(BF16)), None, "data", None, None, None)
            with jax.named_scope("attention"):
                qg = q.reshape(*q.shape[:2], kv_heads, heads // kv_heads, hd)
                s = jnp.einsum("bqgrd,bkgd->bgrqk", qg, kv[0]).astype(F32) / math.sqrt(hd)
                a = jnp.einsum("bgrqk,bkgd->bqgrd", jax.nn.softmax(s, -1).astype(BF16), kv[1]).reshape(q.shape)
            x = wsc(x + jnp.einsum("bshk,hkd->bsd", a, lp["o"].astype(BF16)), "data", "seq", None)
            h = jax.nn.gelu(jnp.einsum("bsd,df->bsf", _norm(x), lp["wi"].astype(BF16)))
            return wsc(x + jnp.einsum("bsf,fd->bsd", h, lp["wo"].astype(BF16)), "data", "seq", None), None

    def loss_of(p, b):
        x, _ = lax.scan(jax.checkpoint(layer), wsc(p["embed"].astype(BF16)[b["tokens"]], "data", "seq", None), p["layers"])
        with jax.named_scope("logits"):
            lg = wsc(jnp.einsum("bsd,vd->bsv", _norm(x), p["embed"].astype(BF16)).astype(F32), "data", "seq", None)
        return jnp.mean(jax.nn.logsumexp(lg, -1) - jnp.take_along_axis(lg, b["targets"][..., None], -1)[..., 0])

    def context_step(params, state, b):
        loss, g = jax.value_and_grad(loss_of)(params, b)
        return *_momentum(params, state, g), loss

    sh = _shardings(p)
    return context_step, (p, p, b), dict(donate_argnums=(0, 1), out_shardings=(sh, sh, NamedSharding(mesh, P())))


def act(topo, *, layers, d, obs, actions, batch, dp):
    """A policy that acts: an MLP over a batch of observations."""
    mesh = mesh_of(topo, (dp,), ("data",))
    p = {"in": sds(mesh, (obs, d), BF16), "layers": sds(mesh, (layers, d, d), BF16), "out": sds(mesh, (d, actions), BF16)}
    x = sds(mesh, (batch, obs), BF16, "data", None)

    def actor_step(p, x):
        h = jax.nn.relu(x @ p["in"])
        for i in range(layers):
            with jax.named_scope(f"policy_{i}"):
                h = jax.nn.relu(h @ p["layers"][i])
        return jnp.argmax((h @ p["out"]).astype(F32), -1)

    return actor_step, (p, x), {}


def learn(topo, *, layers, d, obs, actions, batch, dp):
    """The same policy and a value learn from what was done."""
    mesh = mesh_of(topo, (dp,), ("data",))
    p = {"in": sds(mesh, (obs, d), F32), "layers": sds(mesh, (layers, d, d), F32), "out": sds(mesh, (d, actions + 1), F32)}
    b = {"x": sds(mesh, (batch, obs), BF16, "data", None), "a": sds(mesh, (batch,), I32, "data"), "r": sds(mesh, (batch,), F32, "data")}

    def loss_of(p, b):
        h = jax.nn.relu(b["x"] @ p["in"].astype(BF16))
        for i in range(layers):
            with jax.named_scope(f"policy_{i}"):
                h = jax.nn.relu(h @ p["layers"][i].astype(BF16))
        y = (h @ p["out"].astype(BF16)).astype(F32)
        adv = b["r"] - y[:, -1]
        lp = jax.nn.log_softmax(y[:, :-1], -1)
        return jnp.mean(adv * adv) - jnp.mean(lax.stop_gradient(adv) * jnp.take_along_axis(lp, b["a"][:, None], -1)[:, 0])

    def learner_step(params, state, b):
        loss, g = jax.value_and_grad(loss_of)(params, b)
        return *_momentum(params, state, g), loss

    sh = _shardings(p)
    return learner_step, (p, p, b), dict(donate_argnums=(0, 1), out_shardings=(sh, sh, NamedSharding(mesh, P())))


def experts2(topo, *, layers, d, ff, experts, heads, vocab, batch, seq, data, ep, cap):
    """Experts over one axis of a mesh, data over the other: one expert a token, without products for dispatching."""
    mesh = mesh_of(topo, (data, ep), ("data", "expert"))
    hd, tok = d // heads, batch * seq // (data * ep)
    room = int(cap * tok / experts)
    p = {"embed": sds(mesh, (vocab, d), F32),
         "layers": {"qkv": sds(mesh, (layers, d, 3, heads, hd), F32), "o": sds(mesh, (layers, heads, hd, d), F32), "router": sds(mesh, (layers, d, experts), F32),
                    "wi": sds(mesh, (layers, experts, d, ff), F32, None, "expert"), "wo": sds(mesh, (layers, experts, ff, d), F32, None, "expert")}}
    b = {"tokens": sds(mesh, (batch, seq), I32, ("data", "expert"), None), "targets": sds(mesh, (batch, seq), I32, ("data", "expert"), None)}

    def local(x, router, wi, wo):
        with jax.named_scope("router"):
            gate = jax.nn.softmax((x @ router.astype(BF16)).astype(F32), -1)
            which, weight = jnp.argmax(gate, -1), jnp.max(gate, -1)
            place = jnp.sum(jnp.cumsum(jax.nn.one_hot(which, experts, dtype=I32), 0) * jax.nn.one_hot(which, experts, dtype=I32), -1) - 1
            slot = jnp.where(place < room, which * room + place, experts * room)
        with jax.named_scope("dispatch"):
            sent = jnp.zeros((experts * room + 1, d), BF16).at[slot].set(x)[:-1]
            sent = lax.all_to_all(sent.reshape(ep, experts // ep, room, d), "expert", 0, 0, tiled=False)
            sent = sent.transpose(1, 0, 2, 3).reshape(experts // ep, ep * room, d)
        with jax.named_scope("expert_mlp"):
            h = jax.nn.gelu(jnp.einsum("ecd,edf->ecf", sent, wi.astype(BF16)))
            y = jnp.einsum("ecf,efd->ecd", h, wo.astype(BF16))
        with jax.named_scope("combine"):
            y = lax.all_to_all(y.reshape(experts // ep, ep, room, d).transpose(1, 0, 2, 3), "expert", 0, 0, tiled=False)
            y = jnp.concatenate([y.reshape(experts * room, d), jnp.zeros((1, d), BF16)])
            return y[slot] * weight[:, None].astype(BF16)

    routed = jax.shard_map(local, mesh=mesh, check_vma=False, out_specs=P(("data", "expert"), None),
                           in_specs=(P(("data", "expert"), None), P(), P("expert", None, None), P("expert", None, None)))

    def layer(x, lp):
        with jax.named_scope("moe_layer"):
            qkv = jnp.einsum("bsd,dthk->tbshk", _norm(x), lp["qkv"].astype(BF16))
            x = x + jnp.einsum("bshk,hkd->bsd", causal_attention(qkv[0], qkv[1], qkv[2]), lp["o"].astype(BF16))
            return x + routed(_norm(x).reshape(-1, d), lp["router"], lp["wi"], lp["wo"]).reshape(x.shape), None

    def loss_of(p, b):
        x, _ = lax.scan(jax.checkpoint(layer), p["embed"].astype(BF16)[b["tokens"]], p["layers"])
        with jax.named_scope("logits"):
            lg = jnp.einsum("bsd,vd->bsv", _norm(x), p["embed"].astype(BF16)).astype(F32)
        return jnp.mean(jax.nn.logsumexp(lg, -1) - jnp.take_along_axis(lg, b["targets"][..., None], -1)[..., 0])

    def switch_step(params, state, b):
        loss, g = jax.value_and_grad(loss_of)(params, b)
        return *_momentum(params, state, g), loss

    sh = _shardings(p)
    return switch_step, (p, p, b), dict(donate_argnums=(0, 1), out_shardings=(sh, sh, NamedSharding(mesh, P())))


def _ce(lg, y):
    return jnp.mean(jax.nn.logsumexp(lg, -1) - jnp.take_along_axis(lg, y[..., None], -1)[..., 0])


def _adam(p, m, v, g):
    with jax.named_scope("adam"):
        m = jax.tree.map(lambda a, b: 0.9 * a + 0.1 * b, m, g)
        v = jax.tree.map(lambda a, b: 0.99 * a + 0.01 * b * b, v, g)
        return jax.tree.map(lambda w, a, b: w - 1e-3 * a * lax.rsqrt(b + 1e-8), p, m, v), m, v


def ring(topo, *, layers, d, heads, ff, vocab, seq, batch, data, ring):
    """Attention over a sequence that lies split: keys and values go round by permutes, the softmax runs blockwise."""
    mesh = mesh_of(topo, (data, ring), ("data", "ring"))
    hd, wsc = d // heads, _constrain(mesh)
    p = {"embed": sds(mesh, (vocab, d), F32),
         "layers": {"qkv": sds(mesh, (layers, d, 3, heads, hd), F32, None, "ring"), "o": sds(mesh, (layers, heads, hd, d), F32, None, None, None, "ring"),
                    "wi": sds(mesh, (layers, d, ff), F32, None, "ring"), "wo": sds(mesh, (layers, ff, d), F32, None, "ring")}}
    b = {"tokens": sds(mesh, (batch, seq), I32, "data", "ring"), "targets": sds(mesh, (batch, seq), I32, "data", "ring")}
    perm = [(i, (i + 1) % ring) for i in range(ring)]

    def local(q, k, v):
        def turn(carry, _):
            k, v, m, l, acc = carry
            with jax.named_scope("ring_send"):
                kn, vn = lax.ppermute(k, "ring", perm), lax.ppermute(v, "ring", perm)
            with jax.named_scope("ring_block"):
                s = jnp.einsum("bqhd,bkhd->bhqk", q, k).astype(F32) / math.sqrt(hd)
                mn = jnp.maximum(m, s.max(-1))
                e = jnp.exp(s - mn[..., None])
                f = jnp.exp(m - mn)
                acc = acc * f[..., None] + jnp.einsum("bhqk,bkhd->bhqd", e.astype(BF16), v).astype(F32)
                l = l * f + e.sum(-1)
            return (kn, vn, mn, l, acc), None
        bq, sq = q.shape[:2]
        z = (k, v, jnp.full((bq, heads, sq), -1e30, F32), jnp.zeros((bq, heads, sq), F32), jnp.zeros((bq, heads, sq, hd), F32))
        (_, _, _, l, acc), _ = lax.scan(jax.checkpoint(turn), z, None, length=ring)
        return (acc / l[..., None]).astype(BF16).transpose(0, 2, 1, 3)

    spec = P("data", "ring", None, None)
    attend = jax.shard_map(local, mesh=mesh, check_vma=False, in_specs=(spec, spec, spec), out_specs=spec)

    def layer(x, lp):
        with jax.named_scope("block"):
            qkv = jnp.einsum("bsd,dthk->tbshk", _norm(x), lp["qkv"].astype(BF16))
            x = wsc(x + jnp.einsum("bshk,hkd->bsd", attend(qkv[0], qkv[1], qkv[2]), lp["o"].astype(BF16)), "data", "ring", None)
            with jax.named_scope("mlp"):
                h = jax.nn.gelu(jnp.einsum("bsd,df->bsf", _norm(x), lp["wi"].astype(BF16)))
                return wsc(x + jnp.einsum("bsf,fd->bsd", h, lp["wo"].astype(BF16)), "data", "ring", None), None

    def loss_of(p, b):
        x, _ = lax.scan(jax.checkpoint(layer), wsc(p["embed"].astype(BF16)[b["tokens"]], "data", "ring", None), p["layers"])
        with jax.named_scope("unembed"):
            return _ce(jnp.einsum("bsd,vd->bsv", _norm(x), p["embed"].astype(BF16)).astype(F32), b["targets"])

    def ring_step(p, m, b):
        loss, g = jax.value_and_grad(loss_of)(p, b)
        return *_momentum(p, m, g), loss

    sh = _shardings(p)
    return ring_step, (p, p, b), dict(donate_argnums=(0, 1), out_shardings=(sh, sh, NamedSharding(mesh, P())))


def dit(topo, *, layers, d, heads, grid, batch, classes, data, fsdp):
    """A diffusion transformer: tokens of a latent image, scales and shifts made from the time and the class."""
    mesh = mesh_of(topo, (data, fsdp), ("data", "fsdp"))
    hd, n, both, wsc = d // heads, grid * grid, ("data", "fsdp"), _constrain(mesh)
    p = {"in": sds(mesh, (16, d), F32), "out": sds(mesh, (d, 16), F32), "time": sds(mesh, (256, d), F32), "cls": sds(mesh, (classes, d), F32),
         "layers": {"ada": sds(mesh, (layers, d, 6, d), F32, None, "fsdp"), "qkv": sds(mesh, (layers, d, 3, heads, hd), F32, None, "fsdp"),
                    "o": sds(mesh, (layers, heads, hd, d), F32, None, None, None, "fsdp"), "wi": sds(mesh, (layers, d, 4 * d), F32, None, "fsdp"),
                    "wo": sds(mesh, (layers, 4 * d, d), F32, None, None, "fsdp")}}
    b = {"x": sds(mesh, (batch, n, 16), BF16, both), "t": sds(mesh, (batch, 256), BF16, both), "c": sds(mesh, (batch,), I32, both),
         "v": sds(mesh, (batch, n, 16), BF16, both)}

    def layer(carry, lp):
        x, c = carry
        with jax.named_scope("modulate"):
            m = jnp.einsum("bd,dke->kbe", jax.nn.silu(c), lp["ada"].astype(BF16))[:, :, None]
        with jax.named_scope("joint_attention"):
            h = _norm(x) * (1 + m[0]) + m[1]
            q = jnp.einsum("bsd,dthk->tbshk", h, lp["qkv"].astype(BF16))
            x = x + m[2] * jnp.einsum("bshk,hkd->bsd", _attend(q[0], q[1], q[2]), lp["o"].astype(BF16))
        with jax.named_scope("dit_mlp"):
            h = _norm(x) * (1 + m[3]) + m[4]
            x = x + m[5] * (jax.nn.gelu(h @ lp["wi"].astype(BF16)) @ lp["wo"].astype(BF16))
        return (wsc(x, both, None, None), c), None

    def loss_of(p, b):
        c = b["t"] @ p["time"].astype(BF16) + p["cls"].astype(BF16)[b["c"]]
        (x, _), _ = lax.scan(jax.checkpoint(layer), (wsc(b["x"] @ p["in"].astype(BF16), both, None, None), c), p["layers"])
        return jnp.mean(jnp.square((_norm(x) @ p["out"].astype(BF16) - b["v"]).astype(F32)))

    def flow_step(p, m, v, ema, b):
        loss, g = jax.value_and_grad(loss_of)(p, b)
        p, m, v = _adam(p, m, v, g)
        with jax.named_scope("ema"):
            ema = jax.tree.map(lambda e, w: 0.999 * e + 0.001 * w, ema, p)
        return p, m, v, ema, loss

    sh = _shardings(p)
    return flow_step, (p, p, p, p, b), dict(donate_argnums=(0, 1, 2, 3), out_shardings=(sh, sh, sh, sh, NamedSharding(mesh, P())))


def vae(topo, *, width, img, batch, latent, dp):
    """An autoencoder of images: strided convolutions, group norms, a sampled latent, transposed convolutions."""
    mesh = mesh_of(topo, (dp,), ("data",))
    w = width
    shapes = {"e0": (3, 3, 3, w), "e1": (4, 4, w, 2 * w), "e2": (4, 4, 2 * w, 4 * w), "mu": (1, 1, 4 * w, 2 * latent), "d0": (1, 1, latent, 4 * w),
              "d1": (4, 4, 4 * w, 2 * w), "d2": (4, 4, 2 * w, w), "d3": (3, 3, w, 3)}
    p = {k: sds(mesh, s, F32) for k, s in shapes.items()}
    b = {"x": sds(mesh, (batch, img, img, 3), BF16, "data"), "eps": sds(mesh, (batch, img // 4, img // 4, latent), BF16, "data")}
    dn = ("NHWC", "HWIO", "NHWC")

    def conv(x, k, s=1):
        return lax.conv_general_dilated(x, k.astype(BF16), (s, s), "SAME", dimension_numbers=dn)

    def gn(x):
        n, h, v, c = x.shape
        y = x.reshape(n, h, v, 8, c // 8).astype(F32)
        y = (y - y.mean((1, 2, 4), keepdims=True)) * lax.rsqrt(y.var((1, 2, 4), keepdims=True) + 1e-5)
        return jax.nn.silu(y.reshape(x.shape)).astype(BF16)

    def loss_of(p, b):
        with jax.named_scope("encode"):
            h = gn(conv(gn(conv(gn(conv(b["x"], p["e0"])), p["e1"], 2)), p["e2"], 2))
            mu, lv = jnp.split(conv(h, p["mu"]).astype(F32), 2, -1)
        with jax.named_scope("sample"):
            z = (mu + jnp.exp(0.5 * lv) * b["eps"].astype(F32)).astype(BF16)
        with jax.named_scope("decode"):
            h = gn(conv(z, p["d0"]))
            h = gn(lax.conv_transpose(h, p["d1"].astype(BF16), (2, 2), "SAME", dimension_numbers=dn))
            h = gn(lax.conv_transpose(h, p["d2"].astype(BF16), (2, 2), "SAME", dimension_numbers=dn))
            y = conv(h, p["d3"])
        return jnp.mean(jnp.square((y - b["x"]).astype(F32))) + 1e-4 * jnp.mean(mu * mu + jnp.exp(lv) - lv)

    def vae_step(p, m, v, b):
        loss, g = jax.value_and_grad(loss_of)(p, b)
        return *_adam(p, m, v, g), loss

    sh = _shardings(p)
    return vae_step, (p, p, p, b), dict(donate_argnums=(0, 1, 2), out_shardings=(sh, sh, sh, NamedSharding(mesh, P())))


def lstm(topo, *, layers, d, vocab, batch, seq, dp):
    """A recurrent language model: gates along time, one step after the other."""
    mesh = mesh_of(topo, (dp,), ("data",))
    p = {"embed": sds(mesh, (vocab, d), F32), "x": [sds(mesh, (d, 4 * d), F32) for _ in range(layers)], "h": [sds(mesh, (d, 4 * d), F32) for _ in range(layers)]}
    b = {"tokens": sds(mesh, (batch, seq), I32, "data", None), "targets": sds(mesh, (batch, seq), I32, "data", None)}

    def loss_of(p, b):
        x = p["embed"].astype(BF16)[b["tokens"]]
        for wx, wh in zip(p["x"], p["h"]):
            with jax.named_scope("input_gates"):
                u = x @ wx.astype(BF16)
            k = wh.astype(BF16)

            def tick(c, ut):
                with jax.named_scope("recurrence"):
                    h, s = c
                    i, f, g, o = jnp.split((ut + h @ k).astype(F32), 4, -1)
                    s = jax.nn.sigmoid(f) * s + jax.nn.sigmoid(i) * jnp.tanh(g)
                    h = (jax.nn.sigmoid(o) * jnp.tanh(s)).astype(BF16)
                    return (h, s), h
            z = jnp.zeros((batch, d), BF16)
            _, y = lax.scan(tick, (z, z.astype(F32)), u.swapaxes(0, 1))
            x = x + y.swapaxes(0, 1)
        with jax.named_scope("softmax_out"):
            return _ce(jnp.einsum("bsd,vd->bsv", x, p["embed"].astype(BF16)).astype(F32), b["targets"])

    def lstm_step(p, b):
        loss, g = jax.value_and_grad(loss_of)(p, b)
        return _sgd(p, g), loss

    return lstm_step, (p, b), dict(donate_argnums=(0,), out_shardings=(_shardings(p), NamedSharding(mesh, P())))


def pipeline(topo, *, d, ff, per_stage, stages, micro, mbatch, seq, vocab, heads):
    """Stages of layers on a row of chips; small batches go from stage to stage by permutes."""
    mesh = mesh_of(topo, (stages,), ("stage",))
    hd = d // heads
    p = {"embed": sds(mesh, (vocab, d), F32), "w": {"qkv": sds(mesh, (stages, per_stage, d, 3, heads, hd), F32, "stage"), "o": sds(mesh, (stages, per_stage, heads, hd, d), F32, "stage"),
                                                     "wi": sds(mesh, (stages, per_stage, d, ff), F32, "stage"), "wo": sds(mesh, (stages, per_stage, ff, d), F32, "stage")}}
    b = {"tokens": sds(mesh, (micro, mbatch, seq), I32), "targets": sds(mesh, (micro, mbatch, seq), I32)}
    nxt = [(i, i + 1) for i in range(stages - 1)]

    def stage(w, x):
        def layer(x, lp):
            with jax.named_scope("stage_layer"):
                q = jnp.einsum("bsd,dthk->tbshk", _norm(x), lp["qkv"].astype(BF16))
                x = x + jnp.einsum("bshk,hkd->bsd", causal_attention(q[0], q[1], q[2]), lp["o"].astype(BF16))
                return x + jax.nn.gelu(_norm(x) @ lp["wi"].astype(BF16)) @ lp["wo"].astype(BF16), None
        return lax.scan(jax.checkpoint(layer), x, w)[0]

    def flow(w, xs):
        w = jax.tree.map(lambda a: a[0], w)
        me = lax.axis_index("stage")

        def tick(carry, i):
            held, out = carry
            x = jnp.where(me == 0, xs[jnp.minimum(i, micro - 1)], held)
            y = stage(w, x)
            with jax.named_scope("hand_on"):
                held = lax.ppermute(y, "stage", nxt)
            k = jnp.maximum(i - stages + 1, 0)
            out = lax.dynamic_update_slice(out, jnp.where((me == stages - 1) & (i >= stages - 1), y, out[k])[None], (k, 0, 0, 0))
            return (held, out), None
        (_, out), _ = lax.scan(tick, (jnp.zeros_like(xs[0]), jnp.zeros_like(xs)), jnp.arange(micro + stages - 1))
        return lax.psum(jnp.where(me == stages - 1, out, 0), "stage")

    piped = jax.shard_map(flow, mesh=mesh, check_vma=False, in_specs=(P("stage"), P()), out_specs=P())

    def loss_of(p, b):
        y = piped(p["w"], p["embed"].astype(BF16)[b["tokens"]])
        y = lax.with_sharding_constraint(y, NamedSharding(mesh, P(None, None, "stage", None)))
        with jax.named_scope("lm_loss"):
            return _ce(jnp.einsum("mbsd,vd->mbsv", _norm(y), p["embed"].astype(BF16)).astype(F32), b["targets"])

    def gpipe_step(p, m, b):
        loss, g = jax.value_and_grad(loss_of)(p, b)
        return *_momentum(p, m, g), loss

    sh = _shardings(p)
    return gpipe_step, (p, p, b), dict(donate_argnums=(0, 1), out_shardings=(sh, sh, NamedSharding(mesh, P())))


def clip(topo, *, layers, d, heads, img, patch, words, vocab, embed, batch, dp):
    """Two towers, of images and of texts, that agree on pairs: what both say of the whole batch is gathered on each chip."""
    mesh = mesh_of(topo, (dp,), ("replica",))
    n, hd, wsc = (img // patch) ** 2, d // heads, _constrain(mesh)
    tower = {"qkv": sds(mesh, (layers, d, 3, heads, hd), F32), "o": sds(mesh, (layers, heads, hd, d), F32), "i": sds(mesh, (layers, d, 4 * d), F32),
             "w": sds(mesh, (layers, 4 * d, d), F32)}
    p = {"patch": sds(mesh, (patch, patch, 3, d), F32), "pos": sds(mesh, (n, d), F32), "word": sds(mesh, (vocab, d), F32), "tpos": sds(mesh, (words, d), F32),
         "vis": tower, "txt": tower, "pv": sds(mesh, (d, embed), F32), "pt": sds(mesh, (d, embed), F32), "t": sds(mesh, (), F32)}
    b = {"img": sds(mesh, (batch, img, img, 3), BF16, "replica"), "ids": sds(mesh, (batch, words), I32, "replica")}

    def through(x, w, name, causal):
        def layer(x, w):
            with jax.named_scope(name):
                with jax.named_scope("mha"):
                    q = jnp.einsum("bsd,dthk->tbshk", _norm(x), w["qkv"].astype(BF16))
                    s = jnp.einsum("bqhk,bthk->bhqt", q[0], q[1]).astype(F32) * hd ** -0.5
                    if causal:
                        s = jnp.where(jnp.tril(jnp.ones((x.shape[1], x.shape[1]), bool)), s, -1e30)
                    x = x + jnp.einsum("bhqt,bthk,hkd->bqd", jax.nn.softmax(s, -1).astype(BF16), q[2], w["o"].astype(BF16))
                with jax.named_scope("quick_gelu"):
                    h = _norm(x) @ w["i"].astype(BF16)
                    return x + (h * jax.nn.sigmoid(1.702 * h)) @ w["w"].astype(BF16), None
        return lax.scan(jax.checkpoint(layer), x, w)[0]

    def unit(x):
        x = x.astype(F32)
        return (x * lax.rsqrt(jnp.sum(x * x, -1, keepdims=True) + 1e-6)).astype(BF16)

    def loss_of(p, b):
        with jax.named_scope("patchify"):
            x = lax.conv_general_dilated(b["img"], p["patch"].astype(BF16), (patch, patch), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))
            x = x.reshape(batch, n, d) + p["pos"].astype(BF16)
        v = unit(through(x, p["vis"], "image_tower", False).mean(1) @ p["pv"].astype(BF16))
        t = unit(through(p["word"].astype(BF16)[b["ids"]] + p["tpos"].astype(BF16), p["txt"], "text_tower", True)[:, -1] @ p["pt"].astype(BF16))
        with jax.named_scope("contrast"):
            va, ta = wsc(v, None, None), wsc(t, None, None)
            y = jnp.arange(batch)
            a = wsc(jnp.exp(p["t"]) * (v @ ta.T).astype(F32), "replica", None)
            c = wsc(jnp.exp(p["t"]) * (t @ va.T).astype(F32), "replica", None)
            return 0.5 * (_ce(a, y) + _ce(c, y))

    def contrastive_step(p, m, b):
        loss, g = jax.value_and_grad(loss_of)(p, b)
        return *_momentum(p, m, g), loss

    sh = _shardings(p)
    return contrastive_step, (p, p, b), dict(donate_argnums=(0, 1), out_shardings=(sh, sh, NamedSharding(mesh, P())))


def choice(topo, *, layers, d, ff, experts, heads, vocab, batch, seq, ep, tp, cap):
    """Experts that choose their words, split over one axis, each of them over the other; a shared one beside them."""
    mesh = mesh_of(topo, (ep, tp), ("ep", "tp"))
    hd, both, tok = d // heads, ("ep", "tp"), batch * seq // (ep * tp)
    room = int(cap * tok / experts)
    p = {"e": sds(mesh, (vocab, d), F32),
         "l": {"qkv": sds(mesh, (layers, d, 3, heads, hd), F32), "o": sds(mesh, (layers, heads, hd, d), F32), "r": sds(mesh, (layers, d, experts), F32),
               "s0": sds(mesh, (layers, d, ff // 2), F32), "s1": sds(mesh, (layers, ff // 2, d), F32),
               "i": sds(mesh, (layers, experts, d, ff), F32, None, "ep", None, "tp"), "w": sds(mesh, (layers, experts, ff, d), F32, None, "ep", "tp")}}
    b = {"x": sds(mesh, (batch, seq), I32, both), "y": sds(mesh, (batch, seq), I32, both)}

    def local(x, r, i, w):
        with jax.named_scope("choose"):
            gate = jax.nn.softmax((x @ r.astype(BF16)).astype(F32), -1)
            weight, at = lax.top_k(gate.T, room)
        with jax.named_scope("send"):
            s = x[at.reshape(-1)].reshape(ep, experts // ep, room, d)
            s = lax.all_to_all(s, "ep", 0, 0, tiled=False).transpose(1, 0, 2, 3).reshape(experts // ep, ep * room, d)
            s = lax.all_gather(s, "tp", axis=1, tiled=True)
        with jax.named_scope("expert_ffn"):
            h = jax.nn.gelu(jnp.einsum("ecd,edf->ecf", s, i.astype(BF16)))
            y = jnp.einsum("ecf,efd->ecd", h, w.astype(BF16))
        with jax.named_scope("fetch"):
            y = lax.psum_scatter(y, "tp", scatter_dimension=1, tiled=True)
            y = lax.all_to_all(y.reshape(experts // ep, ep, room, d).transpose(1, 0, 2, 3), "ep", 0, 0, tiled=False)
            y = y.reshape(experts * room, d) * weight.reshape(-1, 1).astype(BF16)
            return jnp.zeros((tok, d), BF16).at[at.reshape(-1)].add(y)

    routed = jax.shard_map(local, mesh=mesh, check_vma=False, out_specs=P(both, None),
                           in_specs=(P(both, None), P(), P("ep", None, "tp"), P("ep", "tp", None)))

    def layer(x, w):
        with jax.named_scope("attn"):
            q = jnp.einsum("bsd,dthk->tbshk", _norm(x), w["qkv"].astype(BF16))
            s = jnp.einsum("bqhk,bthk->bhqt", q[0], q[1]).astype(F32) * hd ** -0.5
            s = jnp.where(jnp.tril(jnp.ones((seq, seq), bool)), s, -1e30)
            a = jnp.einsum("bhqt,bthk->bqhk", jax.nn.softmax(s, -1).astype(BF16), q[2])
            x = x + jnp.einsum("bshk,hkd->bsd", a, w["o"].astype(BF16))
        y = _norm(x)
        with jax.named_scope("shared_ffn"):
            z = jax.nn.gelu(y @ w["s0"].astype(BF16)) @ w["s1"].astype(BF16)
        return x + z + routed(y.reshape(-1, d), w["r"], w["i"], w["w"]).reshape(x.shape), None

    def loss_of(p, b):
        x, _ = lax.scan(jax.checkpoint(layer), p["e"].astype(BF16)[b["x"]], p["l"])
        with jax.named_scope("word_scores"):
            lg = jnp.einsum("bsd,vd->bsv", _norm(x), p["e"].astype(BF16))
        return _ce(lg.astype(F32), b["y"])

    def choice_step(p, m, b):
        loss, g = jax.value_and_grad(loss_of)(p, b)
        return *_momentum(p, m, g), loss

    sh = _shardings(p)
    return choice_step, (p, p, b), dict(donate_argnums=(0, 1), out_shardings=(sh, sh, NamedSharding(mesh, P())))


BUILDERS |= dict(diffusion=diffusion, translate=translate, recommend=recommend, vit=vit, ssm=ssm, lora=lora, gnn=gnn, context=context,
                act=act, learn=learn, experts2=experts2, ring=ring, dit=dit, vae=vae, lstm=lstm, pipeline=pipeline,
                clip=clip, choice=choice)
