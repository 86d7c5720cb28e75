/** Captures a profile from a running program: what is asked for, how far it is, what came of it. */

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import { ApiError } from "../../api/client";
import type { Capture, Captures } from "../../api/types";
import { begin, capture, captureIsOpen, captureRefused, dismiss, end, offered } from "../../state/capture";
import { isOver } from "../../state/captured";
import { look } from "../../state/listing";
import { go } from "../../state/route";
import { Words } from "../../widgets/Words";
import type { Form, Wrong } from "./form";
import { TPU_MODES, asked, restored, wrongIn } from "./form";
import { sentence, serverWords, share } from "./progress";
import "../../styles/capture.css";

const KEY = "haloscope.capture";

function kept(): Form {
  try {
    return restored(localStorage.getItem(KEY));
  } catch {
    return restored(null);
  }
}

function keep(form: Form): void {
  try {
    localStorage.setItem(KEY, JSON.stringify(form));
  } catch {
    // The next dialog then starts with what is usual.
  }
}

/** Shows the run that was captured. */
async function open(one: Capture): Promise<void> {
  dismiss();
  captureIsOpen.value = false;
  await look();
  if (one.run !== null) go({ page: "overview", run: one.run });
}

export function CaptureDialog() {
  const dialog = useRef<HTMLDialogElement>(null);
  const [form, setForm] = useState<Form>(kept);
  const [tried, setTried] = useState(false);
  const [offer, setOffer] = useState<Captures | null>(null);
  const [unreached, setUnreached] = useState<unknown>(null);
  const one = capture.value;
  const isRunning = one !== null && !isOver(one);
  const wrong = wrongIn(form);
  const set = (change: Partial<Form>): void => setForm({ ...form, ...change });

  useEffect(() => {
    dialog.current?.showModal();
    dialog.current?.querySelector<HTMLInputElement>("[name=servers]")?.select();
    offered().then(setOffer, setUnreached);
  }, []);
  useEffect(() => {
    // Remarks are read before one goes on.
    if (one !== null && one.state === "done" && one.run !== null && one.remarks.length === 0) void open(one);
  }, [one?.state]);

  const close = (): void => {
    captureIsOpen.value = false;
    dismiss();
  };
  const submit = (event: Event): void => {
    event.preventDefault();
    setTried(true);
    if (isRunning || Object.keys(wrong).length > 0) {
      dialog.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus();
      return;
    }
    keep(form);
    void begin(asked(form));
  };
  const isAvailable = offer?.available !== false && unreached === null;
  const field = { form, set, wrong: tried ? wrong : {} };

  return (
    <dialog
      class="help capture"
      ref={dialog}
      onClose={close}
      aria-labelledby="capture-title"
      // The page's keys are for the page.
      onKeyDown={(event) => event.stopPropagation()}
    >
      <form class="help-body" onSubmit={submit} noValidate>
        <h2 id="capture-title">Capture a profile</h2>
        <p class="sub">
          From a running program that has called <code>jax.profiler.start_server(9999)</code>, or its framework's like.
          {offer?.folder != null && (
            <>
              {" The session is saved below "}
              <code>{offer.folder}</code>.
            </>
          )}
        </p>
        {offer !== null && !offer.available && <Refused title="This server does not capture" text={offer.why ?? ""} hint="" />}
        {unreached !== null && <Refusal error={unreached} />}
        <fieldset disabled={isRunning || !isAvailable}>
          <Line name="servers" label="Servers" hint={hintOf(offer)} {...field} />
          <div class="capture-row short">
            <Line name="duration" label="Duration" hint="500ms, 2s" {...field} />
            <Line name="delay" label="Delay" hint="before it starts" {...field} />
            <Line name="retries" label="Retries" hint="if one fails" {...field} />
          </div>
          <details open={isChanged(form)}>
            <summary>Tracers and options</summary>
            <div class="capture-row">
              <Choice name="host" label="Host tracer" {...field}>
                <option value="0">0: off</option>
                <option value="1">1: the program's</option>
                <option value="2">2: usual</option>
                <option value="3">3: all</option>
              </Choice>
              <Choice name="device" label="Device tracer" {...field}>
                <option value="0">0: off</option>
                <option value="1">1: on</option>
              </Choice>
              <Choice name="python" label="Python tracer" {...field}>
                <option value="0">0: off</option>
                <option value="1">1: on, expensive</option>
              </Choice>
            </div>
            <Choice name="tpu" label="TPU trace mode" {...field}>
              <option value="">the program's default</option>
              {TPU_MODES.map((mode) => (
                <option key={mode} value={mode}>
                  {mode}
                </option>
              ))}
            </Choice>
            <More {...field} />
          </details>
        </fieldset>
        {isRunning && <Progress one={one} />}
        {captureRefused.value !== null && <Refusal error={captureRefused.value} />}
        {one?.state === "failed" && <Refused title={one.error ?? "No profile"} text="" hint={one.hint ?? ""} />}
        {one?.state === "cancelled" && (
          <p class="notice calm" role="status">
            Ended; nothing was written.
          </p>
        )}
        {one?.state === "done" && <Done one={one} />}
        <div class="capture-actions">
          {one?.state === "done" ? (
            <button type="button" class="primary" onClick={() => void open(one)}>
              Open the overview
            </button>
          ) : isRunning ? (
            <button type="button" disabled={one.state === "ending"} onClick={() => void end()}>
              End it
            </button>
          ) : (
            <button type="submit" class="primary" disabled={!isAvailable}>
              {one?.state === "failed" ? "Try again" : "Capture"}
            </button>
          )}
          <button type="button" onClick={() => dialog.current?.close()}>
            Close
          </button>
          {isRunning && <span class="sub">It goes on if you close this dialog.</span>}
        </div>
      </form>
    </dialog>
  );
}

function isChanged(form: Form): boolean {
  return asked(form).options.length > 0;
}

function hintOf(offer: Captures | null): string {
  const list = "host:port; several, separated by commas, make one session";
  return offer === null || offer.any_server || !offer.available ? list : `${list}. This server may ask ${offer.servers.join(", ")}`;
}

interface FieldProps {
  readonly name: keyof Form;
  readonly label: string;
  readonly form: Form;
  readonly set: (change: Partial<Form>) => void;
  readonly wrong: Wrong;
}

function Line({ name, label, hint, form, set, wrong }: FieldProps & { readonly hint: string }) {
  const id = `capture-${name}`;
  return (
    <div class={name === "servers" ? "capture-field wide" : "capture-field"}>
      <label for={id}>{label}</label>
      <input
        id={id}
        name={name}
        value={form[name]}
        size={name === "servers" ? 30 : 7}
        spellcheck={false}
        autocomplete="off"
        autocapitalize="off"
        aria-invalid={wrong[name] !== undefined}
        aria-describedby={`${id}-hint`}
        onInput={(event) => set({ [name]: event.currentTarget.value })}
      />
      <Hint id={`${id}-hint`} hint={hint} wrong={wrong[name]} />
    </div>
  );
}

function Hint({ id, hint, wrong }: { readonly id: string; readonly hint: string; readonly wrong: string | undefined }) {
  return (
    <span id={id} class={wrong === undefined ? "capture-hint" : "capture-hint bad"} role={wrong === undefined ? undefined : "alert"}>
      {wrong ?? hint}
    </span>
  );
}

function Choice({ name, label, form, set, children }: FieldProps & { readonly children: ComponentChildren }) {
  return (
    <div class="capture-field">
      <label for={`capture-${name}`}>{label}</label>
      <select id={`capture-${name}`} value={form[name]} onChange={(event) => set({ [name]: event.currentTarget.value })}>
        {children}
      </select>
    </div>
  );
}

function More({ form, set, wrong }: Pick<FieldProps, "form" | "set" | "wrong">) {
  return (
    <div class="capture-field wide">
      <label for="capture-more">Other options</label>
      <textarea
        id="capture-more"
        rows={2}
        spellcheck={false}
        placeholder="tpu_num_chips_to_profile_per_task=1"
        value={form.more}
        aria-invalid={wrong.more !== undefined}
        aria-describedby="capture-more-hint"
        onInput={(event) => set({ more: event.currentTarget.value })}
      />
      <Hint id="capture-more-hint" hint="name=value, one per line, as in ProfileOptions.advanced_configuration" wrong={wrong.more} />
    </div>
  );
}

function Progress({ one }: { readonly one: Capture }) {
  const part = share(one);
  const several = one.servers.length > 1 || one.servers.some((server) => server.attempt > 1);
  return (
    <div class="capture-progress">
      <p role="status">{sentence(one)}</p>
      {part === null ? <progress aria-label="Progress" /> : <progress value={part} max={1} aria-label="Progress" />}
      {several && (
        <ul>
          {one.servers.map((server) => (
            <li key={server.server}>
              <code>{server.server}</code> <span>{serverWords(server, one.duration_ms)}</span>
              {server.why !== null && <span class="capture-why">{server.why}</span>}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function Done({ one }: { readonly one: Capture }) {
  return (
    <div class="notice" role="status">
      <p class="notice-title">{sentence(one)}</p>
      {one.run === null && (
        <p>
          It is in <code>{one.path}</code>, which is not in the list of runs.
        </p>
      )}
      {one.remarks.map((remark) => (
        <p key={remark}>
          <Words text={remark} />
        </p>
      ))}
    </div>
  );
}

function Refusal({ error }: { readonly error: unknown }) {
  const hint = error instanceof ApiError ? error.hint : "";
  return <Refused title={error instanceof Error ? error.message : String(error)} text="" hint={hint} />;
}

function Refused({ title, text, hint }: { readonly title: string; readonly text: string; readonly hint: string }) {
  return (
    <div class="notice error" role="alert">
      <p class="notice-title">
        <Words text={title} />
      </p>
      {[text, hint]
        .filter((one) => one !== "")
        .map((one) => (
          <p key={one}>
            <Words text={one} />
          </p>
        ))}
    </div>
  );
}
