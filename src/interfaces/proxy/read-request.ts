/** Reads the body of a model request, within limits. */
import { either as E } from 'fp-ts'
import type { Api, ProxyRequest } from '../../application/model-apis/api.js'
import { parseJson, type Fields } from '../../application/model-apis/json.js'
import { isRecord } from '../../lib/is-record.js'
import { countValues, hasMoreValues, MOST_MESSAGE_VALUES, MOST_VALUES } from '../../lib/json.js'
import { LedgerError } from '../../lib/ledger-error.js'
import { decodeBody } from './body.js'
import type { ProxyState } from './proxy-state.js'

/** A model request that was read. */
export interface ReadRequest {
  readonly body: Fields
  readonly request: ProxyRequest
}

/** Why a request is not read. Undefined if it is no request of this API. */
type Unread = LedgerError | undefined

/** The error of a request that is longer than `maxBodyBytes`. */
export function tooLong(maxBodyBytes: number): LedgerError {
  const limit = String(maxBodyBytes)
  return new LedgerError('BodyTooLarge', `the request is longer than ${limit} bytes, so it cannot be recorded`)
}

const tooManyValues = (part: string, most: number): LedgerError =>
  new LedgerError('TooManyValues', `${part} has more than ${String(most)} JSON values, so it cannot be recorded`)

/** Reads the body of a request of an API. */
export async function readRequest(
  api: Api,
  bytes: Uint8Array,
  headers: Headers,
  { maxBodyBytes, reportProblem }: Pick<ProxyState, 'maxBodyBytes' | 'reportProblem'>,
): Promise<E.Either<Unread, ReadRequest>> {
  const plain = await decodeBody(bytes, headers.get('content-encoding'), maxBodyBytes)
  if (plain === undefined) return E.left(undefined)
  if (plain === 'too-long') return E.left(tooLong(maxBodyBytes))
  const text = Buffer.from(plain).toString('utf8')
  if (hasMoreValues(text, MOST_VALUES)) return E.left(tooManyValues('the request', MOST_VALUES))
  const body = parseJson(text)
  if (!isRecord(body)) return E.left(undefined)
  try {
    const request = api.readRequest(body)
    if (request === undefined) return E.left(undefined)
    return request.messages.some(({ input }) => countValues(input, MOST_MESSAGE_VALUES) > MOST_MESSAGE_VALUES)
      ? E.left(tooManyValues('a message of the request', MOST_MESSAGE_VALUES))
      : E.right({ body, request })
  } catch (error) {
    reportProblem(error)
    return E.left(undefined)
  }
}
