/** Calls about editions that are not sent as they are. */
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

/** What-if simulations and comparisons report each conversation as progress; evaluations need the store. */
export const remoteEditions = ({
  result,
}: Remote): Pick<Ledger['editions'], 'whatIf' | 'compare' | 'evaluate' | 'estimateEvaluation'> => ({
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
