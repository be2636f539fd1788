/** The headers of answers: those of upstream, the state of the recording and the conversation; and answers of the proxy itself. */
import type { IncomingMessage } from 'node:http'
import type { Api } from '../../application/model-apis/api.js'
import { CONVERSATION_HEADER } from './identify-request.js'
import type { RequestRecord } from './recorder.js'
import { endToEndNames } from './upstream.js'

/** The header with the state of the recording. */
const STATE = 'x-context-ledger'
export const REFUSED = { 'content-type': 'application/json', [STATE]: 'refused' }

/** The value of the state header; `recording` if the record is not known yet. */
function stateOf(record: RequestRecord | undefined): string {
  if (record === undefined) return 'recording'
  if (record.outcome === 'bypassed') return 'bypassed'
  if (record.outcome === 'side-request') return 'side call; not recorded'
  return record.cannotShorten === undefined ? 'recorded' : `recorded; cannot shorten: ${record.cannotShorten}`
}

/** The headers of an answer as upstream wrote them, names and values in turn. */
export function upstreamHeaders({ headers, rawHeaders }: IncomingMessage): string[] {
  const isForwarded = endToEndNames(headers.connection)
  const pairs: string[] = []
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const [name, value] = [rawHeaders[at], rawHeaders[at + 1]]
    if (name !== undefined && value !== undefined && isForwarded(name)) pairs.push(name, value)
  }
  return pairs
}

/** The headers of the answer to a model request: those of upstream, the state and the conversation. */
export function answerHeaders(
  incoming: IncomingMessage,
  record: RequestRecord | undefined,
  unreadable?: string,
): string[] {
  const state = `${stateOf(record)}${unreadable === undefined ? '' : `; answer not recorded: ${unreadable}`}`
  const pairs = [...upstreamHeaders(incoming), STATE, state]
  const { conversationId } = record ?? {}
  if (conversationId !== undefined && /^[\x20-\x7E]*$/u.test(conversationId))
    pairs.push(CONVERSATION_HEADER, conversationId)
  return pairs
}

/** An error of the proxy, in the form of the API. */
export const errorResponse = (
  api: Api,
  status: 400 | 413 | 426 | 500 | 502 | 503,
  message: string,
  kind: string,
): Response => new Response(JSON.stringify(api.errorBody(message, kind)), { status, headers: REFUSED })
