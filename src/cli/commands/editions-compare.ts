import { edition, text, type Command } from '../command.js'
import { count, line, many, toJson } from '../output.js'
import { withLedger } from '../session.js'

export const editionsCompare: Command = {
  words: 'compare <edition> [conversations..]',
  describe: 'Show what an edition keeps and loses beside what was in force',
  positionals: {
    edition,
    conversations: { type: 'string', array: true, describe: 'Ids of conversations [default: all that have it]' },
  },
  options: {
    against: text('Another edition to compare it with [default: what was in force]'),
    questions: text(
      'JSON Lines of { question, evidence: [message ids], answerable? }: which evidence gets out of reach',
    ),
  },
  async run(given) {
    const editionId = given.word('edition')
    const conversationIds = given.words('conversations')
    const against = given.text('against')
    const file = given.text('questions')
    const [{ readQuestions }, { showComparisons }, { startProgress }] = await Promise.all([
      import('../editions/questions.js'),
      import('../reports/comparison.js'),
      import('../progress.js'),
    ])
    const questions = file === undefined ? undefined : await readQuestions(file)
    await withLedger(given.flags, { searches: questions !== undefined }, async ({ ledger }) => {
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
      if (given.json) await line(toJson(compared))
      else await showComparisons(compared, conversationIds.length > 0)
    })
  },
}
