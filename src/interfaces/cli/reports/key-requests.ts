/** Requests of access keys that may have returned a recorded secret: reads of its conversation, and searches. */
import type { RecordedSecret } from '../../../library/ledger.js'
import type { KeyStore, KeyUse } from '../../../ports/service-state.js'

/** A request of a key, after the secret was recorded. */
export interface KeyRequest {
  readonly at: string
  readonly keyId: string
  /** Name of the route in the description of the API. */
  readonly route: string
  /** Undefined for a request that is not limited to one conversation. */
  readonly conversationId?: string
}

/** Routes whose answers have texts of one conversation. */
const READS_CONVERSATION = new Set([
  'getContext',
  'getLog',
  'getMessages',
  'streamConversationEvents',
  'diff',
  'explain',
  'forgotten',
  'listRules',
  'checkRules',
  'compress',
  'useTool',
  'search',
])
/** Routes whose answers may have texts of every conversation that the key can access. */
const READS_ALL = new Set(['search', 'streamEvents', 'checkRulesAll'])

const PAGE = 1_000

/** Key requests since an instant, newest first. */
async function usesSince(keys: Pick<KeyStore, 'uses'>, since: string): Promise<KeyUse[]> {
  const found: KeyUse[] = []
  for (let before: string | undefined; ;) {
    const page = await keys.uses({ limit: PAGE, ...(before === undefined ? {} : { before }) })
    const later = page.filter(({ at }) => at >= since)
    found.push(...later)
    before = page.at(-1)?.place
    if (before === undefined || later.length < PAGE) return found
  }
}

/** For each secret, the requests that may have returned it. The table keeps the newest million requests. */
export async function keyRequests(
  keys: Pick<KeyStore, 'uses'>,
  secrets: readonly RecordedSecret[],
): Promise<ReadonlyMap<RecordedSecret, readonly KeyRequest[]>> {
  const firstTimes = secrets.flatMap(({ places }) => places[0]?.recordedAt ?? []).toSorted()
  const [since] = firstTimes
  const uses = since === undefined ? [] : await usesSince(keys, since)
  const reads = uses.flatMap(({ at, keyId, route, conversationId, status }): KeyRequest[] => {
    const isRead = (conversationId === undefined ? READS_ALL : READS_CONVERSATION).has(route)
    if (keyId === undefined || status >= 400 || !isRead) return []
    return [{ at, keyId, route, ...(conversationId === undefined ? {} : { conversationId }) }]
  })
  return new Map(
    secrets.map((secret) => {
      const from = secret.places[0]?.recordedAt ?? ''
      const concerns = ({ at, conversationId = secret.conversationId }: KeyRequest): boolean =>
        at >= from && conversationId === secret.conversationId
      return [secret, reads.filter(concerns).toReversed()]
    }),
  )
}
