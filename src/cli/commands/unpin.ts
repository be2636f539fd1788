import { conversation, message, type Command } from '../command.js'
import { line, printable, toJson } from '../output.js'
import { withLedger } from '../session.js'

export const unpin: Command = {
  words: 'unpin <conversation> <message>',
  describe: 'Let a pinned message be compacted again',
  positionals: { conversation, message },
  async run(given) {
    const conversationId = given.word('conversation')
    const messageId = given.word('message')
    await withLedger(given.flags, {}, async ({ ledger }) => {
      await ledger.unpin(conversationId, messageId)
      await line(
        given.json
          ? toJson({ conversationId, messageId, pinned: false })
          : `${printable(messageId)} may be compacted again`,
      )
    })
  },
}
