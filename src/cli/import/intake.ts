/** The messages of one file on their way into its conversation. */
import { either as E } from 'fp-ts'
import { messageHash, parseMessage } from '../../domain/values/message.js'
import type { Ledger, MessageInput } from '../../library/ledger.js'
import { LedgerError } from '../../library/problem.js'
import { InputError } from '../errors.js'
import type { ImportedFile } from './imported-file.js'

function named(error: unknown, where: string): unknown {
  if (!(error instanceof LedgerError) || (error.fault !== 'input' && error.fault !== 'state')) return error
  return new InputError(error.failure.kind, `${where}: ${error.message}`)
}

/**
 * Hashes of the messages that the log has, by id: to pass over a long stretch of them without asking the store for
 * each.
 */
async function recordedMessages(ledger: Ledger, conversationId: string): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>()
  for await (const event of ledger.log(conversationId))
    if (event.type === 'MessageAppended') found.set(event.data.messageId, messageHash(event.data))
  return found
}

/** Whether the log has this very message; one with other content is for the ledger to refuse. */
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

export class Intake {
  recorded: ReadonlyMap<string, string> | undefined
  /**
   * The last message that was passed over. It is asked for after all before anything new: compaction that a kill cut
   * off behind it runs first, as it would have.
   */
  private held: PlacedMessage | undefined

  constructor(
    private readonly ledger: Ledger,
    readonly done: ImportedFile,
    private readonly scope: string | undefined,
  ) {}

  async take(placed: PlacedMessage): Promise<void> {
    if (this.recorded !== undefined && isRecorded(this.recorded, placed.message)) {
      if (this.held !== undefined) this.done.alreadyThere += 1
      this.held = placed
      return
    }
    await this.flush()
    await this.append(placed)
  }

  async flush(): Promise<void> {
    const { held } = this
    this.held = undefined
    if (held !== undefined) await this.append(held)
  }

  private async append({ message, where }: PlacedMessage): Promise<void> {
    const { conversationId } = this.done
    try {
      const appended = await this.ledger.append(
        conversationId,
        message,
        this.scope === undefined ? {} : { scope: this.scope },
      )
      this.done.revision = appended.revision
      if (appended.recorded.length > 0) this.done.recorded += 1
      else {
        this.done.alreadyThere += 1
        this.recorded ??= await recordedMessages(this.ledger, conversationId)
      }
    } catch (error) {
      throw named(error, where)
    }
    await this.ledger.settled(conversationId)
  }
}
