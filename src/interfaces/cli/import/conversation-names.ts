/**
 * Names the conversations of message files without a header. A conversation is named after its file; if another file has
 * that name, a hash of the file's path follows. The events of an import name the file, so that the next one finds it.
 */
import { realpath } from 'node:fs/promises'
import { basename, extname } from 'node:path'
import { sha256 } from '../../../domain/values/hash.js'
import { isLedgerError } from '../../../lib/ledger-error.js'
import type { Ledger } from '../../../library/ledger.js'

/** The conversation of a file. */
export interface ConversationName {
  readonly id: string
  /** The correlation id of the events that an import of the file records: a hash of its path. */
  readonly source: string
}

const SOURCE = 'import '
const DIGITS = 8

export class ConversationNames {
  /** Conversation id → source, of the files of this import. A dry run records none. */
  private readonly sources = new Map<string, string>()

  /** @param ledger undefined in a dry run, which has no recorded conversations */
  constructor(private readonly ledger: Pick<Ledger, 'log'> | undefined) {}

  async find(path: string): Promise<ConversationName> {
    const file = await realpath(path)
    const hash = sha256(file).slice(0, DIGITS)
    const source = `${SOURCE}${hash}`
    const name = basename(file, extname(file))
    const namesake = this.sources.get(name) ?? (await this.recordedSource(name))
    const id = namesake === undefined || namesake === source ? name : `${name}-${hash}`
    this.sources.set(id, source)
    return { id, source }
  }

  /** The file from which a conversation was imported; undefined if there is none, or no import recorded it. */
  private async recordedSource(conversationId: string): Promise<string | undefined> {
    if (this.ledger === undefined) return undefined
    try {
      for await (const { type, metadata } of this.ledger.log(conversationId))
        if (type === 'MessageAppended')
          return metadata.correlationId.startsWith(SOURCE) ? metadata.correlationId : undefined
    } catch (error) {
      if (!isLedgerError(error, 'NoSuchConversation')) throw error
    }
    return undefined
  }
}
