import { conversation, message, type Command } from '../command.js'
import { line, printable, toJson } from '../output.js'
import { withLedger } from '../session.js'

export const pin: Command = {
  words: 'pin <conversation> <message>',
  describe: 'Keep a message word for word, whatever is compacted',
  positionals: { conversation, message },
  async run(given) {
    const conversationId = given.word('conversation')
    const messageId = given.word('message')
    await withLedger(given.flags, {}, async ({ ledger }) => {
      await ledger.pin(conversationId, messageId)
      await line(
        given.json
          ? toJson({ conversationId, messageId, pinned: true })
          : `${printable(messageId)} is pinned: it stays word for word`,
      )
    })
  },
}
