/** Editions, prompts and projections of a service, call by call. */
import type { Ledger } from '../../library/ledger.js'
import { notSupportedRemotely, withoutActor, type Remote } from './remote.js'

const EVALUATED_AT_THE_STORE = 'evaluate on the machine of the store: the candidates have models and keys of their own'

/** A listener for the progress of a job that goes through conversations. */
const doneOf = (
  listener: ((done: number, of: number) => void) | undefined,
): ((progress: { readonly done: number; readonly of: number }) => void) | undefined =>
  listener === undefined
    ? undefined
    : ({ done, of }) => {
        listener(done, of)
      }

/** Editions. */
export const remoteEditions = ({ value, result }: Remote): Ledger['editions'] => ({
  estimate: async ({ signal, ...body }) => await result('estimateReplay', { body }, { signal }),
  replay: async ({ signal, onProgress, ...options }) =>
    await result('replay', { body: withoutActor(options) }, { signal, onProgress }),
  list: async () => (await value('listEditions', {})).editions,
  show: async (edition) => await value('getEdition', { params: { edition } }),
  adopt: async (conversation, edition, { signal, ...options } = {}) =>
    await result('adoptEdition', { params: { conversation, edition }, body: withoutActor(options) }, { signal }),
  async revert(conversation, editionId, options = {}) {
    withoutActor(options)
    return await value('revertEdition', { params: { conversation }, body: { editionId } })
  },
  async drop(conversation, edition, options = {}) {
    withoutActor(options)
    return await value('dropEdition', { params: { conversation, edition } })
  },
  undo: async (conversation, options) => await value('undo', { params: { conversation }, body: withoutActor(options) }),
  whatIf: async (conversations, { onConversation, ...options }) =>
    await result('whatIf', { body: { ...options, conversations } }, { onProgress: doneOf(onConversation) }),
  estimateEvaluation: () => Promise.reject(notSupportedRemotely('editions.estimateEvaluation', EVALUATED_AT_THE_STORE)),
  evaluate: () => Promise.reject(notSupportedRemotely('editions.evaluate', EVALUATED_AT_THE_STORE)),
  async compare(conversations, edition, { onConversation, waitFor, timeout, ...options } = {}) {
    if (waitFor !== undefined || timeout !== undefined)
      throw notSupportedRemotely('waitFor', 'a job waits for what the service recorded')
    const body = { ...withoutActor(options), conversations }
    return await result('compareEdition', { params: { edition }, body }, { onProgress: doneOf(onConversation) })
  },
})

/** Read models. */
export const remoteProjections = ({ value, result }: Remote): Ledger['admin']['projections'] => ({
  status: async () => (await value('getProjections', {})).projections,
  async rebuild(names, { signal, onProgress, fresh, batchSize } = {}) {
    if (batchSize !== undefined) throw notSupportedRemotely('batchSize', 'the service has its own')
    await result('rebuildProjections', { body: { names, fresh } }, { signal, onProgress })
  },
  catchUp: async () => (await value('catchUpProjections', {})).position,
  fillVectors: async ({ limit, signal, onProgress } = {}) =>
    await result('fillVectors', { body: { limit } }, { signal, onProgress }),
})
