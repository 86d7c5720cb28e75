use super::*;

const SPMD: Extent = Extent { replicas: Some(1), partitions: Some(8) };

fn of_text(text: &str, extent: Extent) -> Groups {
    Groups::of_text(text, extent, None).unwrap_or_else(|| panic!("no groups in {text}"))
}

fn lists(attributes: &str, extent: Extent) -> Vec<Vec<i64>> {
    of_text(&format!("%ar = f32[8]{{0}} all-reduce(f32[8]{{0}} %a), channel_id=1, {attributes}"), extent)
        .lists
}

#[test]
fn every_form_of_text() {
    let global = |groups: &str| lists(&format!("replica_groups={groups}, use_global_device_ids=true"), SPMD);
    let near = vec![vec![0, 1], vec![2, 3], vec![4, 5], vec![6, 7]];
    let far = vec![vec![0, 2, 4, 6], vec![1, 3, 5, 7]];
    assert_eq!(global("{{0,1},{2,3},{4,5},{6,7}}"), near);
    assert_eq!(global("[4,2]<=[8]"), near);
    assert_eq!(global("[2,4]<=[4,2]T(1,0)"), far);
    assert_eq!(global("mesh['data'=4,'model'=2] {'data'}"), far);
    assert_eq!(global("{}"), vec![(0..8).collect::<Vec<i64>>()]);
    let named = of_text(
        "%a = f32[] all-reduce(f32[] %x), channel_id=1, replica_groups=mesh['data'=4,'model'=2] {'model'}, use_global_device_ids=true",
        SPMD,
    );
    assert_eq!((named.lists, named.size, named.source), (near, Some(2), Source::Text));
    assert_eq!(named.mesh.map(|m| m.mesh.len()), Some(2));
}

#[test]
fn a_mesh_that_is_only_named_needs_one_that_is_known() {
    let text = "%a = f32[] all-reduce(f32[] %x), channel_id=1, replica_groups=@mesh{'model'}";
    assert_eq!(Groups::of_text(text, SPMD, None), None);
    let mesh = Mesh::parse("data=2,model=4").unwrap();
    let groups = Groups::of_text(text, SPMD, mesh.as_ref()).unwrap();
    assert_eq!(groups.lists, [vec![0, 1, 2, 3], vec![4, 5, 6, 7]]);
    assert_eq!(Groups::of_text(&text.replace("model", "other"), SPMD, mesh.as_ref()), None);
}

#[test]
fn ids_are_made_logical_by_mode() {
    let both = Extent { replicas: Some(2), partitions: Some(2) };
    // With a channel and without global ids: replicas, with all their partitions.
    assert_eq!(lists("replica_groups={{0,1}}", both), [[0, 1, 2, 3]]);
    assert_eq!(lists("replica_groups={{0,1}}, use_global_device_ids=true", both), [[0, 1]]);
    // Opcodes without the attribute: partitions with a channel, replicas without.
    let swap = "%a = f32[2] all-to-all(f32[2] %x), channel_id=1, replica_groups={{0,1}}";
    assert_eq!(of_text(swap, both).lists, [[0, 1], [2, 3]]);
    let swap = "%a = f32[2] all-to-all(f32[2] %x), replica_groups={{0,1}}";
    assert_eq!(of_text(swap, both).lists, [[0, 2], [1, 3]]);
    // Nobody knows the extent: the ids stand for themselves, and all is not to be written out.
    assert_eq!(lists("replica_groups={{0,1}}, use_global_device_ids=true", Extent::default()), [[0, 1]]);
    let all = of_text("%a = f32[] all-reduce(f32[] %x), replica_groups={}", Extent::default());
    assert_eq!((all.lists.len(), all.size), (0, None));
}

#[test]
fn hops_connect_groups() {
    let text = "%p = (f32[2], f32[2], u32[], u32[]) collective-permute-start(f32[2] %f), channel_id=14, \
        source_target_pairs={{0,4},{4,0},{1,5},{5,1},{3,3}}, backend_config={}";
    let groups = of_text(text, SPMD);
    assert_eq!(groups.lists, [vec![0, 4], vec![1, 5], vec![3]]);
    assert_eq!((groups.pairs.len(), groups.size), (5, Some(2)));
    assert_eq!((groups.group_of(5), groups.group_of(2)), (Some(1), None));
}

#[test]
fn shapes_are_the_last_resort() {
    let of = |text: &str| {
        let op = OpMeta { name: "x".into(), expression: text.to_owned().into(), ..OpMeta::default() };
        Groups::of(None, &op, None)
    };
    let gather = of("%ag = s32[32,4]{1,0} all-gather(s32[8,4]{1,0} %x), channel_id=1").unwrap();
    assert_eq!((gather.size, gather.source, gather.lists.len()), (Some(4), Source::Shapes, 0));
    let scatter = of("%rs = f32[4]{0} reduce-scatter(f32[32]{0} %x), to_apply=%add").unwrap();
    assert_eq!(scatter.size, Some(8));
    assert_eq!(of("%ar = f32[4]{0} all-reduce(f32[4]{0} %x)"), None);
    assert_eq!(of("%ag = s32[31]{0} all-gather(s32[8]{0} %x)"), None);
    assert_eq!(of(""), None);
}

#[test]
fn hostile_numbers_take_no_memory() {
    for groups in [
        "[4611686018427387904,2]<=[9223372036854775807]",
        "[2147483648,2]<=[4294967296]",
        "[1,0]<=[0]",
        "mesh['x'=9223372036854775807,'y'=9223372036854775807] {'x'}",
        "[-1,-8]<=[8]",
        "{{9223372036854775807,-1}}",
    ] {
        let text =
            format!("%ar = f32[8]{{0}} all-reduce(f32[8]{{0}} %a), channel_id=1, replica_groups={groups}");
        for partitions in [None, Some(2), Some(u64::MAX)] {
            let found = Groups::of_text(&text, Extent { replicas: partitions, partitions }, None);
            assert!(found.is_none_or(|g| g.lists.len() <= 2), "{groups}");
        }
    }
    let all = "%ar = f32[] all-reduce(f32[] %a), replica_groups={}";
    let extent = Extent { replicas: Some(u64::MAX), partitions: Some(u64::MAX) };
    assert!(of_text(all, extent).lists.is_empty());
    assert!(Groups::of_text("x = all-reduce(), replica_groups={{0,1},", SPMD, None).is_none());
    assert!(Groups::of_text("x = p(), source_target_pairs={{0,1,2}}", SPMD, None).is_none());
}

const MODULE: &str = r"HloModule m, replica_count=1, num_partitions=4

%wrapped (p: f32[8]) -> f32[16] {
  %p = f32[8]{0} parameter(0)
  ROOT %ag = f32[16]{0} all-gather(f32[8]{0} %p), channel_id=3, replica_groups=[2,2]<=[4], dimensions={0}, use_global_device_ids=true
}

%outer (q: f32[8]) -> f32[16] {
  %q = f32[8]{0} parameter(0)
  ROOT %inner = f32[16]{0} call(f32[8]{0} %q), to_apply=%wrapped
}

ENTRY %main (a: f32[8]) -> f32[16] {
  %a = f32[8]{0} parameter(0)
  %permute-start = (f32[8]{0}, f32[8]{0}, u32[], u32[]) collective-permute-start(f32[8]{0} %a), channel_id=1, source_target_pairs={{0,1},{1,0},{2,3},{3,2}}
  %permute-done = f32[8]{0} collective-permute-done((f32[8]{0}, f32[8]{0}, u32[], u32[]) %permute-start)
  %start = ((f32[8]{0}), f32[16]{0}, u32[]) async-start(f32[8]{0} %permute-done), calls=%wrapped
  %done = f32[16]{0} async-done(((f32[8]{0}), f32[16]{0}, u32[]) %start)
  ROOT %called = f32[16]{0} call(f32[8]{0} %a), to_apply=%outer
}
";

#[test]
fn wrappers_and_dones_are_followed() {
    let module = Module::parse(MODULE).unwrap();
    let of = |name: &str| {
        let op = OpMeta { name: name.to_owned().into(), ..OpMeta::default() };
        let groups = Groups::of(Some(&module), &op, None).unwrap_or_else(|| panic!("{name}"));
        assert_eq!(groups.source, Source::Program);
        groups.lists
    };
    for name in ["ag", "start", "done", "inner", "called", "permute-start", "permute-done"] {
        assert_eq!(of(name), [[0, 1], [2, 3]], "{name}");
    }
    let op = OpMeta { name: "a".into(), ..OpMeta::default() };
    assert_eq!(Groups::of(Some(&module), &op, None), None);
}
