import { toWire } from '../../../domain/values/revision.js'
import { conversation, message, type CliCommand } from '../command.js'
import { announced, conversationNamed } from '../find-conversation.js'
import { line, printable } from '../output.js'
import { withLedger } from '../session.js'

/** A command that pins a message or unpins it. */
const pinning = (
  call: 'pin' | 'unpin',
  { describe, answer }: { readonly describe: string; readonly answer: string },
): CliCommand => ({
  words: `${call} <conversation> <message>`,
  describe,
  uses: ['open', 'record'],
  positionals: { conversation, message },
  async run(args) {
    const messageId = args.word('message')
    await withLedger(args.flags, {}, async ({ ledger }) => {
      const conversationId = await conversationNamed(ledger, args.word('conversation'), announced(args))
      await ledger.conversation(conversationId)[call](messageId)
      await line(
        args.json
          ? toWire({ conversationId, messageId, pinned: call === 'pin' })
          : `${printable(messageId)} is ${answer}`,
      )
    })
  },
})

export const pin = pinning('pin', {
  describe: 'Pin a message: compaction never replaces it',
  answer: 'pinned: compaction never replaces it',
})

export const unpin = pinning('unpin', {
  describe: 'Unpin a message: compaction may replace it again',
  answer: 'unpinned: compaction may replace it',
})
