import { edition, text, type CliCommand } from '../command.js'
import { count, line, many } from '../output.js'
import { titlesOf } from '../../../library/titles.js'
import { conversationsNamed } from '../find-conversation.js'
import { toWire } from '../../../domain/values/revision.js'
import { withLedger } from '../session.js'

export const editionsCompare: CliCommand = {
  words: 'compare <edition> [conversations..]',
  describe: 'Compare what an edition keeps and loses with the active context',
  uses: ['open', 'search'],
  positionals: {
    edition,
    conversations: {
      type: 'string',
      array: true,
      describe: 'Ids or titles of the conversations [default: all that have the edition]',
    },
  },
  options: {
    against: text('Edition to compare with [default: the active context]'),
    questions: text(
      'JSON Lines of { question, evidence: [message ids], answerable? }; reports evidence that is no longer reachable',
    ),
  },
  async run(args) {
    const editionId = args.word('edition')
    const against = args.text('against')
    const file = args.text('questions')
    const [{ readQuestions }, { showComparisons }, { startProgress }] = await Promise.all([
      import('../editions/questions.js'),
      import('../reports/comparison.js'),
      import('../progress.js'),
    ])
    const questions = file === undefined ? undefined : await readQuestions(file)
    await withLedger(args.flags, { searches: questions !== undefined }, async ({ ledger }) => {
      const conversationIds = await conversationsNamed(ledger, args.words('conversations'))
      const progress = await startProgress('comparing', conversationIds.length)
      const compared = await ledger.editions
        .compare(conversationIds.length === 0 ? 'all' : conversationIds, editionId, {
          ...(against === undefined ? {} : { against }),
          ...(questions === undefined ? {} : { questions }),
          onConversation: (done, of) => {
            progress.update(done, `${count(done)} of ${many(of, 'conversation')}`)
          },
        })
        .finally(() => {
          progress.stop()
        })
      if (args.json) await line(toWire(compared))
      else {
        const compareIds = compared.conversations.map(({ conversationId }) => conversationId)
        await showComparisons(compared, conversationIds.length > 0, await titlesOf(ledger, compareIds))
      }
    })
  },
}
