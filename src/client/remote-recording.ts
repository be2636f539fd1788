/** The functions of a remote ledger that record. */
import { withoutUndefined } from '../lib/without-undefined.js'
import type { AppendOptions, Ledger } from '../library/ledger.js'
import { bodyOf, notSupportedRemotely, ofKey, withoutActor, type RemoteCalls } from './remote-calls.js'

/** The headers of a revision that is expected. */
function expectedOf(revision: bigint | undefined): Readonly<Record<string, string>> {
  if (revision === undefined) return {}
  return revision === -1n ? { 'if-none-match': '*' } : { 'if-match': `"${revision.toString()}"` }
}

export function recordingCalls(
  remote: RemoteCalls,
  policy: AppendOptions['policy'],
): Pick<
  Ledger,
  | 'append'
  | 'amend'
  | 'observe'
  | 'openTranscript'
  | 'importTranscript'
  | 'compact'
  | 'undo'
  | 'settled'
  | 'pin'
  | 'unpin'
> {
  const { calls } = remote
  return {
    async append(conversationId, messages, { actor, together, expectedRevision, ...rest } = {}) {
      withoutActor(actor)
      if (together !== undefined)
        throw notSupportedRemotely('together', 'send the request again with the same Idempotency-Key instead')
      const settings = policy === undefined && rest.policy === undefined ? undefined : { ...policy, ...rest.policy }
      return await remote.value(() =>
        calls.appendMessages({
          params: { conversation: conversationId },
          body: bodyOf({
            ...rest,
            policy: settings,
            messages: Array.isArray(messages) ? messages : [messages],
          }),
          headers: expectedOf(expectedRevision),
        }),
      )
    },
    async amend(conversationId, { actor, expectedRevision, ...rest }) {
      withoutActor(actor)
      return await remote.value(() =>
        calls.amend({
          params: { conversation: conversationId },
          body: bodyOf(rest),
          headers: expectedOf(expectedRevision),
        }),
      )
    },
    async observe(conversationId, observation, { actor, ...rest } = {}) {
      withoutActor(actor)
      const settings = policy === undefined && rest.policy === undefined ? undefined : { ...policy, ...rest.policy }
      return await remote.value(() =>
        calls.observe({
          params: { conversation: conversationId },
          body: bodyOf({ ...rest, policy: settings, observation }),
        }),
      )
    },
    openTranscript: () => Promise.reject(notSupportedRemotely('openTranscript', 'record on the machine of the store')),
    importTranscript: () =>
      Promise.reject(
        notSupportedRemotely('importTranscript', 'import on the machine of the store, or append the messages'),
      ),
    compact: async (conversationId, options = {}) => {
      const body = withoutUndefined(ofKey(options))
      return await remote.job(() => calls.compact({ params: { conversation: conversationId }, body }))
    },
    undo: async (conversationId, undone) =>
      await remote.value(() => calls.undo({ params: { conversation: conversationId }, body: bodyOf(ofKey(undone)) })),
    async settled(conversationId) {
      if (conversationId === undefined) return
      await remote.answer(() => calls.settle({ params: { conversation: conversationId } }))
    },
    async pin(conversationId, messageId, request = {}) {
      const params = { conversation: conversationId, message: messageId }
      const query = withoutUndefined(ofKey(request))
      await remote.answer(() => calls.pinMessage({ params, query }))
    },
    async unpin(conversationId, messageId, request = {}) {
      const params = { conversation: conversationId, message: messageId }
      const query = withoutUndefined(ofKey(request))
      await remote.answer(() => calls.unpinMessage({ params, query }))
    },
  }
}
