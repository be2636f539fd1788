/** The functions of a remote ledger about editions. */
import { withoutUndefined } from '../lib/without-undefined.js'
import type { Ledger } from '../library/ledger.js'
import { bodyOf, notSupportedRemotely, ofKey, withoutActor, type RemoteCalls } from './remote-calls.js'

/** What a service cannot do, and what does it. */
const EVALUATED_AT_THE_STORE = 'evaluate on the machine of the store: the candidates have models and keys of their own'

/** Progress as two numbers. */
export const progressOf =
  (listener: (done: number, of: number) => void) =>
  ({ done, of }: { readonly done: number; readonly of: number }): void => {
    listener(done, of)
  }

export function editionCalls(remote: RemoteCalls): Ledger['editions'] {
  const { calls } = remote
  return {
    estimate: async ({ signal, ...request }) =>
      await remote.job(() => calls.estimateReplay({ body: bodyOf(request) }), { signal }),
    replay: async ({ signal, onProgress, ...request }) =>
      await remote.job(() => calls.replay({ body: bodyOf(ofKey(request)) }), { signal, onProgress }),
    async list() {
      return (
        await remote.value<{ readonly editions: Awaited<ReturnType<Ledger['editions']['list']>> }>(() =>
          calls.listEditions({}),
        )
      ).editions
    },
    show: async (editionId) => await remote.value(() => calls.getEdition({ params: { edition: editionId } })),
    adopt: async (conversationId, editionId, { signal, ...rest } = {}) =>
      await remote.job(
        () =>
          calls.adoptEdition({
            params: { conversation: conversationId, edition: editionId },
            body: bodyOf(ofKey(rest)),
          }),
        { signal },
      ),
    async revert(conversationId, editionId, { actor } = {}) {
      withoutActor(actor)
      const params = { conversation: conversationId }
      return await remote.value(() => calls.revertEdition({ params, body: withoutUndefined({ editionId }) }))
    },
    async drop(conversationId, editionId, { actor } = {}) {
      withoutActor(actor)
      return await remote.value(() =>
        calls.dropEdition({ params: { conversation: conversationId, edition: editionId } }),
      )
    },
    estimateEvaluation: () =>
      Promise.reject(notSupportedRemotely('editions.estimateEvaluation', EVALUATED_AT_THE_STORE)),
    evaluate: () => Promise.reject(notSupportedRemotely('editions.evaluate', EVALUATED_AT_THE_STORE)),
    compare: async (conversations, editionId, { onConversation, waitFor, timeout, ...rest } = {}) => {
      if (waitFor !== undefined || timeout !== undefined)
        throw notSupportedRemotely('waitFor', 'a job waits for what the service recorded')
      return await remote.job(
        () => calls.compareEdition({ params: { edition: editionId }, body: bodyOf({ ...ofKey(rest), conversations }) }),
        { onProgress: onConversation === undefined ? undefined : progressOf(onConversation) },
      )
    },
  }
}
