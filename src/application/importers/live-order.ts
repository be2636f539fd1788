/** The order of the messages and compactions of a conversation, for programs that rewind to an earlier record. */
import type { SourceLocation, TranscriptItem } from './transcript.js'

interface Entry {
  readonly id: string
  readonly kind: 'message' | 'compaction' | 'other'
}

export class LiveOrder {
  private entries: Entry[] = []

  /** Appends a record. `other` is a record without a message, which a later record may name. */
  append(id: string, kind: Entry['kind']): void {
    this.entries.push({ id, kind })
  }

  get length(): number {
    return this.entries.length
  }

  /** The position of the last record with this id; -1 if it is not on the current branch. */
  indexOf(id: string): number {
    return this.entries.findLastIndex((entry) => entry.id === id)
  }

  /** The ids of the messages from a position on. */
  messagesFrom(index: number): readonly string[] {
    return this.entries.slice(index).flatMap(({ id, kind }) => (kind === 'message' ? [id] : []))
  }

  /** Removes the records from a position on: reverts their compactions, and withdraws their messages. */
  *rewind(index: number, at: string | undefined, where: SourceLocation): Generator<TranscriptItem> {
    const removed = this.entries.splice(index)
    const compactions = removed.flatMap(({ id, kind }) => (kind === 'compaction' ? [id] : []))
    const messages = removed.flatMap(({ id, kind }) => (kind === 'message' ? [id] : []))
    if (compactions.length > 0) yield { kind: 'undo', sourceIds: compactions.toReversed(), at, where }
    if (messages.length > 0) yield { kind: 'withdrawal', sourceIds: messages, at, where }
  }
}
