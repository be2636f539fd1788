/** `rules review`: a model reads a conversation for rules and for calls that broke them. */
import { conversation, type CliCommand } from '../command.js'
import { count, line, many } from '../output.js'
import { announced, conversationNamed } from '../find-conversation.js'
import { toWire } from '../../../domain/values/revision.js'
import { withLedger } from '../session.js'

export const rulesReview: CliCommand = {
  words: 'review <conversation>',
  describe: 'Let the model of --summarizer find rules and the calls that broke them; `rules check` then uses it',
  uses: ['open', 'record', 'summarize'],
  positionals: { conversation },
  options: {},
  examples: [
    [
      '$0 rules review "date bug" --summarizer openai --model gpt-5-mini',
      'one request for about 16,000 tokens of messages',
    ],
  ],
  async run(args) {
    const { WaitingProgress } = await import('../waiting.js')
    const progress = new WaitingProgress('reviewing')
    await withLedger(args.flags, { writes: true, onRequest: progress.add }, async ({ ledger }) => {
      const conversationId = await conversationNamed(ledger, args.word('conversation'), announced(args))
      const review = await progress.until(ledger.rules.review(conversationId))
      if (args.json) {
        await line(toWire(review))
        return
      }
      const { requests, rules, breaks, rejected, usage } = review
      if (requests === 0) {
        await line('nothing to do: a model has read all messages. `rules check` shows what it found')
        return
      }
      const tokens = usage === undefined ? '' : `, ${count(usage.promptTokens + usage.completionTokens)} tokens`
      await line(
        `found ${many(rules, 'new rule')} and ${many(breaks, 'break')} (${many(requests, 'request')}${tokens}). \`rules check\` shows them`,
      )
      if (rejected > 0)
        await line(
          `${many(rejected, 'statement')} of the model did not follow from the messages and ${rejected === 1 ? 'was' : 'were'} left out`,
        )
    })
  },
}
