import type { AdoptOptions } from '../../../library/ledger.js'
import { allOfEdition, bounds, conversations, edition, text, yes, type CliCommand } from '../command.js'
import { withLedger } from '../session.js'

/** If catching up needs model calls, the command shows the estimate and asks for confirmation, like `replay`. */
export const editionsAdopt: CliCommand = {
  words: 'adopt <edition> [conversations..]',
  describe: 'Make an edition active, after it catches up with new messages',
  uses: ['open', 'record', 'summarize', 'price'],
  policy: true,
  positionals: { edition, conversations },
  options: { ...allOfEdition, ...bounds, yes, 'prompt-name': text('The same value as for `replay`') },
  async run(args) {
    const [
      { boundsOf, configuredPrice, onceApproved, replayEstimate },
      { conversationsOf, editionRequest, showOutcome, forEachConversation, tokensText },
    ] = await Promise.all([import('../replay/estimate.js'), import('../editions/each-conversation.js')])
    const command = editionRequest(args)
    const { edition: editionId, json } = command
    const maxCost = args.positive('max-cost')
    const spending = boundsOf({ maxTokens: args.whole('max-tokens'), maxCost })
    const promptName = args.text('prompt-name')
    await withLedger(args.flags, { writes: true, promptName }, async ({ ledger, config }) => {
      const ids = await conversationsOf(ledger, command, ({ state }) => state !== 'dropped')
      const price = await configuredPrice(config, maxCost)
      const request = {
        ...(config.policy === undefined ? {} : { policy: config.policy }),
        ...(price === undefined ? {} : { price }),
      }
      const options: AdoptOptions = { ...request, ...spending }
      const needsModel = ids.length > 0 && config.summarizer !== 'extractive'
      const made = await onceApproved(
        {
          estimate: needsModel
            ? (signal) => ledger.editions.estimate({ ...request, conversations: ids, editionId, signal })
            : undefined,
          ...replayEstimate(ledger),
          isSilentIfFree: true,
          yes: args.is('yes'),
          json,
        },
        (signal) =>
          forEachConversation(
            ledger,
            ids,
            json,
            (conversationId) => ledger.editions.adopt(conversationId, editionId, { ...options, signal }),
            (one) => (one.changed ? `now active, ${tokensText(one)}` : 'already active'),
            signal,
          ),
      )
      if (made === undefined) return
      await showOutcome(editionId, made.done, json, made.estimate)
    })
  },
}
