/** Editions, prompts, and what-if simulations. */
import { withoutUndefined } from '../../../lib/without-undefined.js'
import type { Handlers } from '../service.js'

/** Reports each conversation as progress. If the job is cancelled, it throws, which ends the work. */
const reportEach =
  ({
    signal,
    progress,
  }: {
    readonly signal: AbortSignal
    readonly progress: (progress: { readonly done: number; readonly of: number }) => void
  }) =>
  (done: number, of: number): void => {
    signal.throwIfAborted()
    progress({ done, of })
  }

/** The handlers. */
export const editionHandlers = {
  async compareEdition({ ledger, jobs }, { params: { edition }, body, headers, access }) {
    const { conversations, ...rest } = body
    const options = withoutUndefined({ ...rest, actor: access.actor })
    return await jobs.start('compareEdition', { access, prefer: headers['prefer'] }, (work) =>
      ledger.editions.compare(conversations, edition, { ...options, onConversation: reportEach(work) }),
    )
  },

  async whatIf({ ledger, jobs }, { body: { conversations, policies, summaries }, headers, access }) {
    const options = withoutUndefined({ policies, summaries })
    return await jobs.start('whatIf', { access, prefer: headers['prefer'] }, (work) =>
      ledger.editions.whatIf(conversations, { ...options, onConversation: reportEach(work) }),
    )
  },
} satisfies Partial<Handlers>
