import type { AdoptOptions } from '../../library/ledger.js'
import { allOfEdition, bounds, conversations, edition, text, yes, type Command } from '../command.js'
import { withLedger } from '../session.js'

/** Where catching up has to be bought it tells the estimate and asks, as `replay` does. */
export const editionsAdopt: Command = {
  words: 'adopt <edition> [conversations..]',
  describe: 'Put an edition into force, caught up with what came since',
  policy: true,
  positionals: { edition, conversations },
  options: { ...allOfEdition, ...bounds, yes, 'prompt-name': text('As it was given to `replay`') },
  async run(given) {
    const [{ boundsOf, onceApproved, priceOf }, { conversationsOf, editionAsked, tellOutcome, toEach, tokensText }] =
      await Promise.all([import('../replay/estimate.js'), import('../editions/each-conversation.js')])
    const command = editionAsked(given)
    const { edition: editionId, json } = command
    const maxCost = given.positive('max-cost')
    const spending = boundsOf({ maxTokens: given.whole('max-tokens'), maxCost })
    const promptName = given.text('prompt-name')
    await withLedger(given.flags, { writes: true, promptName }, async ({ ledger, config }) => {
      const ids = await conversationsOf(ledger, command, ({ state }) => state !== 'dropped')
      const price = await priceOf(config, maxCost)
      const request = {
        ...(config.policy === undefined ? {} : { policy: config.policy }),
        ...(price === undefined ? {} : { price }),
      }
      const options: AdoptOptions = { ...request, ...spending }
      const buys = ids.length > 0 && config.summarizer !== 'extractive'
      const made = await onceApproved(
        {
          estimate: buys
            ? (signal) => ledger.editions.estimate({ ...request, conversations: ids, editionId, signal })
            : undefined,
          quietWhenFree: true,
          yes: given.is('yes'),
          json,
        },
        (signal) =>
          toEach(
            ids,
            json,
            (conversationId) => ledger.editions.adopt(conversationId, editionId, { ...options, signal }),
            (one) => (one.changed ? `in force, ${tokensText(one)}` : 'was in force already'),
            signal,
          ),
      )
      if (made === undefined) return
      await tellOutcome(editionId, made.done, json, made.estimate)
    })
  },
}
