/** Editions, prompts, and what would have been. */
import { withoutUndefined } from '../../lib/without-undefined.js'
import type {
  AdoptOptions,
  CompareEditionsOptions,
  EstimateOptions,
  ReplayOptions,
  WhatIfOptions,
} from '../../library/ledger.js'
import type { Access } from '../access.js'
import { Refused } from '../problems.js'
import type { Handlers, Parts } from '../service.js'

/** The handlers. */
export function editionHandlers({
  ledger,
  bounds,
  jobs,
}: Parts): Handlers<
  | 'listEditions'
  | 'getEdition'
  | 'estimateReplay'
  | 'replay'
  | 'compareEdition'
  | 'adoptEdition'
  | 'revertEdition'
  | 'dropEdition'
  | 'whatIf'
  | 'listPrompts'
  | 'getPrompt'
> {
  /** Throws where some of these conversations are not within the key's bound. */
  async function check(access: Access, conversations: readonly string[] | 'all'): Promise<void> {
    if (conversations !== 'all') for (const id of conversations) await bounds.check(access, id)
    else if (access.bound !== undefined)
      throw new Refused('KeyBound', 'the key is bound to a part of the ledger: name the conversations', {
        field: 'conversations',
      })
  }

  return {
    async listEditions() {
      return { body: { editions: await ledger.editions.list() } }
    },

    async getEdition({ params: { edition } }) {
      return { body: await ledger.editions.show(edition) }
    },

    async estimateReplay({ body, headers, access }) {
      await check(access, body.conversations)
      // The ledger checks price and policy. oxlint-disable-next-line typescript/no-unsafe-type-assertion
      const options = withoutUndefined(body) as EstimateOptions
      return await jobs.start('estimateReplay', { access, prefer: headers['prefer'] }, ({ signal }) =>
        ledger.editions.estimate({ ...options, signal }),
      )
    },

    async replay({ body, headers, access }) {
      await check(access, body.conversations)
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      const options = withoutUndefined({ ...body, actor: access.actor }) as ReplayOptions
      return await jobs.start('replay', { access, prefer: headers['prefer'] }, ({ signal, progress }) =>
        ledger.editions.replay({ ...options, signal, onProgress: progress }),
      )
    },

    async compareEdition({ params: { edition }, body: { conversations, ...rest }, headers, access }) {
      await check(access, conversations)
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      const options = withoutUndefined({ ...rest, actor: access.actor }) as CompareEditionsOptions
      return await jobs.start('compareEdition', { access, prefer: headers['prefer'] }, ({ progress, signal }) =>
        ledger.editions.compare(conversations, edition, {
          ...options,
          onConversation: (done, of) => {
            signal.throwIfAborted()
            progress({ done, of })
          },
        }),
      )
    },

    async adoptEdition({ params: { conversation, edition }, body, headers, access }) {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      const options = withoutUndefined({ ...body, actor: access.actor }) as AdoptOptions
      const jobOptions = { access, conversationId: conversation, prefer: headers['prefer'] }
      return await jobs.start('adoptEdition', jobOptions, ({ signal }) =>
        ledger.editions.adopt(conversation, edition, { ...options, signal }),
      )
    },

    async revertEdition({ params: { conversation }, body: { editionId }, access: { actor } }) {
      return { body: await ledger.editions.revert(conversation, editionId, withoutUndefined({ actor })) }
    },

    async dropEdition({ params: { conversation, edition }, access: { actor } }) {
      return { body: await ledger.editions.drop(conversation, edition, withoutUndefined({ actor })) }
    },

    async whatIf({ body: { conversations, policies, summaries }, headers, access }) {
      await check(access, conversations)
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      const options = withoutUndefined({ policies, summaries }) as WhatIfOptions
      return await jobs.start('whatIf', { access, prefer: headers['prefer'] }, ({ progress, signal }) =>
        ledger.whatIf(conversations, {
          ...options,
          onConversation: (done, of) => {
            signal.throwIfAborted()
            progress({ done, of })
          },
        }),
      )
    },

    async listPrompts() {
      return { body: await ledger.prompts.list() }
    },

    async getPrompt({ params: { prompt } }) {
      return { body: await ledger.prompts.show(prompt) }
    },
  }
}
