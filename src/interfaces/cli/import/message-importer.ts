/** Records the messages of one file in its conversation. */
import { isLedgerError, LedgerError } from '../../../lib/ledger-error.js'
import { either as E } from 'fp-ts'
import { messageHash } from '../../../domain/values/message.js'
import { parseMessage } from '../../../domain/values/parse-message.js'
import { withinValues } from '../../../application/importers/content-part.js'
import type { AppendOptions, Ledger, MessageInput } from '../../../library/ledger.js'

import type { ImportedFile } from './imported-file.js'

function withPlace(error: unknown, where: string): unknown {
  if (!isLedgerError(error) || (error.fault !== 'input' && error.fault !== 'state')) return error
  return new LedgerError(error.kind, `${where}: ${error.message}`)
}

/**
 * Hashes of the recorded messages by id, to skip recorded messages without a store call for each. Up to 0.11.0 a message
 * could have any number of JSON values; it counts in the form in which a file is read now.
 */
async function recordedMessages(ledger: Ledger, conversationId: string): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>()
  for await (const event of ledger.log(conversationId))
    if (event.type === 'MessageAppended') found.set(event.data.messageId, messageHash(withinValues(event.data)))
  return found
}

/** Whether the log has a message with the same id and content. The ledger rejects one with other content. */
function isRecorded(recorded: ReadonlyMap<string, string>, message: MessageInput): boolean {
  const parsed = parseMessage(message)
  return (
    E.isRight(parsed) &&
    parsed.right.messageId !== undefined &&
    recorded.get(parsed.right.messageId) === messageHash(parsed.right)
  )
}

interface PlacedMessage {
  readonly message: MessageInput
  readonly where: string
}

export class MessageImporter {
  recorded: ReadonlyMap<string, string> | undefined
  /**
   * The last skipped message. It is appended before any new message, so that a compaction that was interrupted after it
   * runs first, as it would have in the first import.
   */
  private lastSkipped: PlacedMessage | undefined

  constructor(
    private readonly ledger: Ledger,
    readonly imported: ImportedFile,
    private readonly options: Pick<AppendOptions, 'scope' | 'correlationId'>,
  ) {}

  async add(placed: PlacedMessage): Promise<void> {
    if (this.recorded !== undefined && isRecorded(this.recorded, placed.message)) {
      if (this.lastSkipped !== undefined) this.imported.alreadyThere += 1
      this.lastSkipped = placed
      return
    }
    await this.flush()
    await this.append(placed)
  }

  async flush(): Promise<void> {
    const { lastSkipped } = this
    this.lastSkipped = undefined
    if (lastSkipped !== undefined) await this.append(lastSkipped)
  }

  private async append({ message, where }: PlacedMessage): Promise<void> {
    const { conversationId } = this.imported
    try {
      const appended = await this.ledger.append(conversationId, message, this.options)
      this.imported.revision = appended.revision
      if (appended.recorded.length > 0) this.imported.recorded += 1
      else {
        this.imported.alreadyThere += 1
        this.recorded ??= await recordedMessages(this.ledger, conversationId)
      }
    } catch (error) {
      if (isLedgerError(error, 'MessageIdTaken')) {
        this.recorded ??= await recordedMessages(this.ledger, conversationId)
        if (isRecorded(this.recorded, message)) {
          this.imported.alreadyThere += 1
          return
        }
      }
      if (!isLedgerError(error, 'SubjectErased')) throw withPlace(error, where)
      this.imported.ofErased += 1
      return
    }
    await this.ledger.admin.waitForCompaction(conversationId)
  }
}
