import { conversation, message, type CliCommand } from '../command.js'
import { line, printable } from '../output.js'
import { announced, conversationNamed } from '../find-conversation.js'
import { toWire } from '../../../domain/values/revision.js'
import { withLedger } from '../session.js'

export const unpin: CliCommand = {
  words: 'unpin <conversation> <message>',
  describe: 'Unpin a message: compaction may replace it again',
  uses: ['open', 'record'],
  positionals: { conversation, message },
  async run(args) {
    const messageId = args.word('message')
    await withLedger(args.flags, {}, async ({ ledger }) => {
      const conversationId = await conversationNamed(ledger, args.word('conversation'), announced(args))
      await ledger.conversation(conversationId).unpin(messageId)
      await line(
        args.json
          ? toWire({ conversationId, messageId, pinned: false })
          : `${printable(messageId)} is unpinned: compaction may replace it`,
      )
    })
  },
}
