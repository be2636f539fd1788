/** The functions of a remote ledger that read. */
import { withoutUndefined } from '../lib/without-undefined.js'
import type { At, ContextAsOf, ForgottenCycle, Ledger } from '../library/ledger.js'
import { notSupportedRemotely, type RemoteCalls } from './remote-calls.js'

/** Fields of a context that are the API's, not the ledger's. */
const CHAT_FIELDS: ReadonlySet<string> = new Set(['messages'])
const MESSAGES_PAGE = 10_000

const momentOf = (at: At | undefined): string | undefined =>
  at === undefined ? undefined : at instanceof Date ? at.toISOString() : String(at)

export function readingCalls(
  remote: RemoteCalls,
): Pick<
  Ledger,
  'context' | 'messages' | 'diff' | 'search' | 'explain' | 'forgotten' | 'stats' | 'verify' | 'identity'
> {
  const { calls } = remote
  return {
    async context(conversationId, { at, view, ...wait } = {}) {
      type Wire = Omit<ContextAsOf, 'messageIds'> & { readonly messageIds: readonly (string | null)[] }
      const params = { conversation: conversationId }
      const context: Wire = await remote.value(
        () => calls.getContext({ params, query: withoutUndefined({ at: momentOf(at), view, ...wait }) }),
        CHAT_FIELDS,
      )
      return { ...context, messageIds: context.messageIds.map((id) => id ?? undefined) }
    },
    async messages(conversationId, { at, ...wait } = {}) {
      type Page = Awaited<ReturnType<Ledger['messages']>> & { readonly next?: string }
      const page = async (cursor: string | undefined): Promise<Page> =>
        await remote.value(() =>
          calls.getMessages({
            params: { conversation: conversationId },
            query: withoutUndefined({
              at: cursor === undefined ? momentOf(at) : undefined,
              cursor,
              limit: MESSAGES_PAGE,
              ...wait,
            }),
          }),
        )
      const { next: second, ...first } = await page(undefined)
      const messages = [...first.messages]
      for (let next = second; next !== undefined;) {
        const more = await page(next)
        messages.push(...more.messages)
        next = more.next
      }
      return { ...first, messages }
    },
    async diff(conversationId, options) {
      const { waitFor, timeout } = options
      const between =
        'cycle' in options ? { cycle: options.cycle } : { from: momentOf(options.from), to: momentOf(options.to) }
      return await remote.value(() =>
        calls.diff({
          params: { conversation: conversationId },
          query: withoutUndefined({ ...between, waitFor, timeout }),
        }),
      )
    },
    search: async (query, searched = {}) =>
      await remote.value(() =>
        calls.search({ body: withoutUndefined({ query, ...searched, waitFor: searched.waitFor?.toString() }) }),
      ),
    explain: async (conversationId, options = {}) =>
      await remote.value(() =>
        calls.explain({ params: { conversation: conversationId }, body: withoutUndefined({ ...options }) }),
      ),
    async forgotten(conversationId, { cycle, onCycle } = {}) {
      interface Found extends Awaited<ReturnType<Ledger['forgotten']>> {
        readonly cycles: readonly ForgottenCycle[]
      }
      const { cycles, ...found }: Found =
        conversationId === undefined
          ? await remote.job(() => calls.forgottenAll({}))
          : await remote.value(() =>
              calls.forgotten({ params: { conversation: conversationId }, query: withoutUndefined({ cycle }) }),
            )
      for (const each of cycles) await onCycle?.(each)
      return found
    },
    async stats(conversationId, { prices, onConversation } = {}) {
      type Total = Awaited<ReturnType<Ledger['stats']>>
      type Counted = Parameters<NonNullable<typeof onConversation>>[0]
      const { conversations, total }: { readonly conversations: readonly Counted[]; readonly total: Total } =
        await remote.job(() => calls.statsAll({ body: withoutUndefined({ prices, conversationId }) }))
      for (const each of conversations) await onConversation?.(each)
      return total
    },
    async verify(conversationId, { onProgress, onStream, against } = {}) {
      if (onStream !== undefined || against !== undefined)
        throw notSupportedRemotely('a manifest', 'create and verify manifests on the machine of the store')
      return await remote.job(
        () =>
          conversationId === undefined
            ? calls.verifyAll({})
            : calls.verify({ params: { conversation: conversationId } }),
        { onProgress },
      )
    },
    identity: async () => await remote.value(() => calls.getLedger({})),
  }
}
