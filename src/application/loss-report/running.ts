/** Calls that were made and had no answer when the context was compacted, and agents and commands that still ran. */
import { CallPairing, resultsByCall } from '../../domain/conversation/call-groups.js'
import type { ReportMessage, ReportToolCall } from './report-input.js'
import type { Work } from './tool-calls.js'

export interface Running {
  readonly work: Work
  readonly kind: 'openCall' | 'subAgent'
}

// The answer of a program that started something and does not wait for it: one line, before any output.
const STARTED =
  /^.{0,40}\b(?:running in (?:the )?background|async agent launched|agent (?:started|launched|spawned)|started in background|process running with session)/imu
/** The marker before the output of the command. */
const OUTPUT = /^(?:Output|Stdout):?\s*$/imu
// The id that a later call names. A chunk of output has another id, which later calls do not name.
const IDS = [
  /\bsession[ _]ID["':\s]*([\w-]{1,60})/iu,
  /\b(?:agent_?id|task_id|bash_id|shell_id)["':\s]*([\w-]{1,60})/iu,
  /(?<!chunk )\bID["':\s]*([\w-]{2,60})/iu,
]
const ENDED =
  /\b(?:completed|finished|done|exited|killed|stopped|failed|terminated)\b|not found|no such|exit(?:ed with)? code/iu
const AROUND = 400
const WORD = /[\w-]{1,60}/gu
/** A number is an id only if the text names it as one. */
const NUMBERED = /\b(?:session|task|shell|bash|agent)[ _]?id["':\s]*(\d{1,12})\b/giu

const isAgent = ({ query }: Work): boolean => query.use === 'agent'

/** The id of the work that a call started without waiting for it; '' if the program names none, undefined if nothing runs on. */
function startedBy(work: Work): string | undefined {
  const result = work.result?.text.slice(0, 1_200) ?? ''
  const head = result.slice(0, OUTPUT.exec(result)?.index ?? result.length)
  const mayRunOn = work.query.inBackground || isAgent(work) || work.query.use === 'shell'
  if (!mayRunOn || !STARTED.test(head)) return undefined
  return IDS.map((pattern) => pattern.exec(head)?.[1]).find((id) => id !== undefined) ?? ''
}

/** The ids that a text may name, with their offsets. */
const idsIn = (text: string): readonly { readonly id: string; readonly at: number }[] => [
  ...Array.from(text.matchAll(WORD), (match) => ({ id: match[0], at: match.index })).filter(
    ({ id }) => !/^\d+$/u.test(id),
  ),
  ...Array.from(text.matchAll(NUMBERED), (match) => ({ id: match[1] ?? '', at: match.index })),
]

/** The ids that a later message reports as ended: in a result of its own, or in a notice. */
function endedIn(started: ReadonlyMap<string, Work>, messages: readonly ReportMessage[]): ReadonlySet<string> {
  const ended = new Set<string>()
  if (started.size === 0) return ended
  const pairing = new CallPairing<ReportToolCall>()
  const idOfCall = new Map<ReportToolCall, string>()
  for (const message of messages) {
    for (const call of message.toolCalls ?? [])
      for (const { id } of idsIn(call.arguments)) if (started.has(id)) idOfCall.set(call, id)
    const answered = pairing.take(message, undefined)
    const callerId = answered === undefined ? undefined : idOfCall.get(answered.call)
    if (callerId !== undefined && ENDED.test(message.text) && !stillRuns(message.text)) ended.add(callerId)
    for (const { id, at } of idsIn(message.text)) {
      const work = started.get(id)
      if (work === undefined || work.result?.messageId === message.messageId) continue
      if (ENDED.test(message.text.slice(Math.max(0, at - AROUND), at + AROUND))) ended.add(id)
    }
  }
  return ended
}

/** Whether the head of a result says that the command still runs, whatever its output says. */
const stillRuns = (text: string): boolean =>
  STARTED.test(text.slice(0, Math.min(1_200, OUTPUT.exec(text.slice(0, 1_200))?.index ?? 1_200)))

/**
 * The calls that still ran when the messages were removed.
 * @param remaining remaining messages; they may have the result of a call
 */
export function runningIn(
  removed: readonly ReportMessage[],
  works: readonly Work[],
  remaining: readonly ReportMessage[],
): Running[] {
  const all = [...removed, ...remaining]
  const answered = resultsByCall<ReportToolCall, ReportMessage>(all)
  const lastPrompt = all.reduce(
    (last, { role, byProgram, revision }) =>
      role === 'user' && byProgram !== true && revision > last ? revision : last,
    -1,
  )
  const started = new Map(works.map((work) => [startedBy(work) ?? '', work] as const).filter(([id]) => id !== ''))
  const ended = endedIn(started, all)
  return works
    .filter((work) => {
      // A prompt after a call without a result ended its turn: the call was stopped.
      if (!answered.has(work.call)) return work.by.revision > lastPrompt
      const id = startedBy(work)
      // Whether a command without an id ended is unknown.
      return id !== undefined && id !== '' && !ended.has(id)
    })
    .map((work) => ({ work, kind: isAgent(work) ? 'subAgent' : 'openCall' }))
}
