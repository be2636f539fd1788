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

/** Throws if some of these conversations are outside the key's bound. */
async function checkBound({ bounds }: Parts, access: Access, conversations: readonly string[] | 'all'): Promise<void> {
  if (conversations !== 'all') for (const id of conversations) await bounds.check(access, id)
  else if (access.bound !== undefined)
    throw new Refused('KeyBound', 'the key is bound to a part of the ledger: name the conversations', {
      field: 'conversations',
    })
}

type ComparingRoutes = 'estimateReplay' | 'replay' | 'compareEdition' | 'whatIf'
type EditionRoutes = 'listEditions' | 'getEdition' | 'adoptEdition' | 'revertEdition' | 'dropEdition'

/** The handlers. */
export const editionHandlers = (
  parts: Parts,
): Handlers<ComparingRoutes | EditionRoutes | 'listPrompts' | 'getPrompt'> => ({
  ...comparingHandlers(parts),
  ...storedHandlers(parts),
})

/** Jobs that make editions, or compare what others would be. */
function comparingHandlers(parts: Parts): Handlers<ComparingRoutes> {
  const { ledger, jobs } = parts
  return {
    async estimateReplay({ body, headers, access }) {
      await checkBound(parts, access, body.conversations)
      // The ledger checks price and policy. oxlint-disable-next-line typescript/no-unsafe-type-assertion
      const options = withoutUndefined(body) as EstimateOptions
      return await jobs.start('estimateReplay', { access, prefer: headers['prefer'] }, ({ signal }) =>
        ledger.editions.estimate({ ...options, signal }),
      )
    },

    async replay({ body, headers, access }) {
      await checkBound(parts, access, body.conversations)
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      const options = withoutUndefined({ ...body, actor: access.actor }) as ReplayOptions
      return await jobs.start('replay', { access, prefer: headers['prefer'] }, ({ signal, progress }) =>
        ledger.editions.replay({ ...options, signal, onProgress: progress }),
      )
    },

    async compareEdition({ params: { edition }, body: { conversations, ...rest }, headers, access }) {
      await checkBound(parts, access, conversations)
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

    async whatIf({ body: { conversations, policies, summaries }, headers, access }) {
      await checkBound(parts, access, conversations)
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
  }
}

/** Editions and prompts that are recorded. */
function storedHandlers({ ledger, jobs }: Parts): Handlers<EditionRoutes | 'listPrompts' | 'getPrompt'> {
  return {
    async listEditions() {
      return { body: { editions: await ledger.editions.list() } }
    },

    async getEdition({ params: { edition } }) {
      return { body: await ledger.editions.show(edition) }
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

    async listPrompts() {
      return { body: await ledger.prompts.list() }
    },

    async getPrompt({ params: { prompt } }) {
      return { body: await ledger.prompts.show(prompt) }
    },
  }
}
