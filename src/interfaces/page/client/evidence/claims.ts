/** The statements of the file about the operator, the model and the times, and how far each is confirmed. */
import { fromBase64 } from './bytes.js'
import { many, timeOf } from './words.js'
import { isFields } from './read.js'
import type { ReadEvent, Verified } from './verify.js'

const DAY_MS = 86_400_000
const MINUTE_MS = 60_000

/** Length of a cosignature of a witness: its time, and an Ed25519 signature. */
const COSIGNATURE_BYTES = 72

const span = (ms: number): string =>
  ms >= 2 * DAY_MS ? many(Math.round(ms / DAY_MS), 'day') : many(Math.max(1, Math.round(ms / (60 * MINUTE_MS))), 'hour')

/** The signer, at the beginning of a sentence. */
export const signerOf = ({ claims: { unsigned } }: Verified): string =>
  unsigned.operator === undefined
    ? 'The holder of the key'
    : `The holder of the key (${unsigned.operator}, as the file says)`

/** The model that a message names; undefined if it names none. */
function modelIn({ data }: ReadEvent): string | undefined {
  const attributes = isFields(data['attributes']) ? data['attributes'] : {}
  return typeof attributes['model'] === 'string' ? attributes['model'] : undefined
}

/** The name of the model, and where the log has it. */
export interface ModelClaim {
  readonly name: string | undefined
  readonly source: string
}

/** The model, by the answer, by the request before it, or by the settings of the conversation. */
export function modelOf({ answer, events, claims }: Verified): ModelClaim {
  const ofConversation = events.filter(({ stream }) => stream === `conversation-${claims.conversationId}`)
  const before = ofConversation.filter(({ revision }) => Number(revision) <= Number(claims.context.revision))
  const answered = answer === undefined ? undefined : modelIn(answer)
  if (answered !== undefined) return { name: answered, source: 'recorded with the answer' }
  const request = before.findLast(({ type }) => type === 'MessageAppended')
  const requested = request === undefined ? undefined : modelIn(request)
  if (requested !== undefined) return { name: requested, source: 'recorded with the request' }
  const configured = before
    .flatMap(({ type, data }) =>
      type === 'ConversationConfigured' && isFields(data['settings']) ? [data['settings']['model']] : [],
    )
    .findLast((model) => typeof model === 'string')
  return configured === undefined
    ? { name: undefined, source: 'the log does not name it' }
    : { name: configured, source: 'by the settings of the conversation; the answer itself does not name a model' }
}

/** The time in a time stamp (RFC 3161). Only a GeneralizedTime has 14 digits; times of certificates have 12. */
function stampedAt(timeStamp: string): string | undefined {
  const text = Array.from(fromBase64(timeStamp), (byte) => String.fromCharCode(byte)).join('')
  const found = /(?<!\d)(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)\d\d(?:\.\d+)?Z/u.exec(text)
  if (found === null) return undefined
  const [year = '', month = '', day = '', hour = '', minute = ''] = found.slice(1)
  return `${year}-${month}-${day}T${hour}:${minute}`
}

/** The time of the signature, and the times that others state for it. */
export function signingTimes({ claims, note }: Verified): readonly string[] {
  const stamped = claims.timeStamp === undefined ? undefined : stampedAt(claims.timeStamp)
  const witnessed = note.signatures.flatMap(({ name, signature }) =>
    signature.length === COSIGNATURE_BYTES ? [{ name, seconds: new DataView(signature.buffer).getBigUint64(0) }] : [],
  )
  return [
    `${timeOf(claims.unsigned.signedAt)}, by the operator’s clock. The signature does not cover this time.`,
    ...(claims.timeStamp === undefined
      ? []
      : [
          `A time stamp service states ${stamped === undefined ? 'a time that this page cannot read' : timeOf(stamped)}. This page does not verify it; \`openssl ts\` does.`,
        ]),
    ...witnessed.map(
      ({ name, seconds }) =>
        `The witness ${name} states ${timeOf(new Date(Number(seconds) * 1_000).toISOString())}. This page does not verify it.`,
    ),
  ]
}

/** The events of the conversation that this file shows, by the clock of the ledger. */
const recordedIn = ({ events, claims }: Verified): readonly ReadEvent[] =>
  events.filter(({ stream }) => stream === `conversation-${claims.conversationId}`)

/** A message that says that it was written on another day than it was recorded. */
function writtenAt({ type, data, recordedAt }: ReadEvent): string | undefined {
  const { createdAt } = data
  return type === 'MessageAppended' &&
    typeof createdAt === 'string' &&
    Math.abs(Date.parse(recordedAt) - Date.parse(createdAt)) > DAY_MS
    ? createdAt
    : undefined
}

/** Explanations, if the dates in the file are far apart. */
export function dateNotes(verified: Verified): readonly string[] {
  const recorded = recordedIn(verified)
  const last = recorded.at(-1)
  if (last === undefined) return []
  const { signedAt } = verified.claims.unsigned
  const later = Date.parse(signedAt) - Date.parse(last.recordedAt)
  const written = recorded.flatMap((event) => writtenAt(event) ?? []).toSorted()
  const [oldest, newest] = [written[0], written.at(-1)]
  return [
    ...(later > DAY_MS
      ? [
          `The last event here was recorded ${timeOf(last.recordedAt)}, and the log was signed ${span(later)} later. That is usual: one signature covers everything before it. But this file does not protect the time between: until the signature, the operator could change the log without a trace. An earlier signed checkpoint that was kept outside can rule that out.`,
        ]
      : []),
    ...(later < -MINUTE_MS
      ? [
          `The log was signed ${span(-later)} before the last event here was recorded, according to these times. That cannot be: at least one of the two is wrong. The proof of the order of the events does not depend on them.`,
        ]
      : []),
    ...(oldest === undefined || newest === undefined
      ? []
      : [
          `${many(written.length, 'message')} ${written.length === 1 ? 'says' : 'say'} that ${written.length === 1 ? 'it was' : 'they were'} written ${oldest.slice(0, 10) === newest.slice(0, 10) ? `on ${oldest.slice(0, 10)}` : `between ${oldest.slice(0, 10)} and ${newest.slice(0, 10)}`}, but the log recorded ${written.length === 1 ? 'it' : 'them'} on another day. That is usual for a conversation that was imported from another program. This file does not confirm the text of these messages before the log recorded them.`,
        ]),
  ]
}
