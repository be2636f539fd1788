/** Editions, prompts, and what-if simulations. */
import { withoutUndefined } from '../../../lib/without-undefined.js'
import type { Access } from '../access.js'
import { Refused } from '../problems.js'
import type { Handlers, Parts } from '../service.js'

/** Throws if some of these conversations are not within the key's bound. */
async function checkAll({ bounds }: Parts, access: Access, conversations: readonly string[] | 'all'): Promise<void> {
  if (conversations !== 'all') for (const id of conversations) await bounds.check(access, id)
  else if (access.bound !== undefined)
    throw new Refused('KeyBound', 'the key is bound to a part of the ledger: name the conversations', {
      field: 'conversations',
    })
}

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
  async listEditions({ ledger }) {
    return { body: { editions: await ledger.editions.list() } }
  },

  async getEdition({ ledger }, { params: { edition } }) {
    return { body: await ledger.editions.show(edition) }
  },

  async estimateReplay(parts, { body, headers, access }) {
    const { ledger, jobs } = parts
    await checkAll(parts, access, body.conversations)
    const options = withoutUndefined(body)
    return await jobs.start('estimateReplay', { access, prefer: headers['prefer'] }, ({ signal }) =>
      ledger.editions.estimate({ ...options, signal }),
    )
  },

  async replay(parts, { body, headers, access }) {
    const { ledger, jobs } = parts
    await checkAll(parts, access, body.conversations)
    const options = withoutUndefined({ ...body, actor: access.actor })
    return await jobs.start('replay', { access, prefer: headers['prefer'] }, ({ signal, progress }) =>
      ledger.editions.replay({ ...options, signal, onProgress: progress }),
    )
  },

  async compareEdition(parts, { params: { edition }, body: { conversations, ...rest }, headers, access }) {
    const { ledger, jobs } = parts
    await checkAll(parts, access, conversations)
    const options = withoutUndefined({ ...rest, actor: access.actor })
    return await jobs.start('compareEdition', { access, prefer: headers['prefer'] }, (work) =>
      ledger.editions.compare(conversations, edition, { ...options, onConversation: reportEach(work) }),
    )
  },

  async adoptEdition({ ledger, jobs }, { params: { conversation, edition }, body, headers, access }) {
    const options = withoutUndefined({ ...body, actor: access.actor })
    const jobOptions = { access, conversationId: conversation, prefer: headers['prefer'] }
    return await jobs.start('adoptEdition', jobOptions, ({ signal }) =>
      ledger.editions.adopt(conversation, edition, { ...options, signal }),
    )
  },

  async revertEdition({ ledger }, { params: { conversation }, body: { editionId }, access: { actor } }) {
    return { body: await ledger.editions.revert(conversation, editionId, withoutUndefined({ actor })) }
  },

  async dropEdition({ ledger }, { params: { conversation, edition }, access: { actor } }) {
    return { body: await ledger.editions.drop(conversation, edition, withoutUndefined({ actor })) }
  },

  async whatIf(parts, { body: { conversations, policies, summaries }, headers, access }) {
    const { ledger, jobs } = parts
    await checkAll(parts, access, conversations)
    const options = withoutUndefined({ policies, summaries })
    return await jobs.start('whatIf', { access, prefer: headers['prefer'] }, (work) =>
      ledger.editions.whatIf(conversations, { ...options, onConversation: reportEach(work) }),
    )
  },

  async listPrompts({ ledger }) {
    return { body: await ledger.admin.prompts.list() }
  },

  async getPrompt({ ledger }, { params: { prompt } }) {
    return { body: await ledger.admin.prompts.show(prompt) }
  },
} satisfies Partial<Handlers>
