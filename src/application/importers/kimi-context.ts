/**
 * The context files of Kimi CLI. `context.jsonl` has the messages that the model receives. A compaction and a return to a
 * checkpoint rename it to `context_<n>.jsonl` and begin a new file; the new file of a compaction begins with the summary.
 */
import { canonicalJson } from '../../domain/values/hash.js'
import { contentText, type MessageBody } from '../../domain/values/message.js'
import { isRecord } from '../../lib/is-record.js'
import { recordable } from '../../lib/json.js'
import { jsonText, type Fields } from './bodies.js'
import { kimiMessage } from './kimi-parts.js'
import { contextAfter, messageItems } from './message-items.js'
import type { SourceLocation, TranscriptItem } from './transcript.js'

/** The text with which the program begins the summary of a compaction. */
const SUMMARY = /^<system>Previous context has been compacted\./u

interface ContextMessage {
  readonly key: string
  readonly message: Fields
  readonly where: SourceLocation
}

/** The messages of the context files, in the order of the files. */
export class KimiContexts {
  private readonly files = new Map<string, ContextMessage[]>()

  add(message: Fields, where: SourceLocation): void {
    const list = this.files.get(where.file) ?? []
    list.push({ key: canonicalJson(recordable(message)), message, where })
    this.files.set(where.file, list)
  }

  /** The summary of each compaction, in order. A file that a return to a checkpoint copied has the same one again. */
  summaries(): readonly MessageBody[] {
    const summaries = new Map<string, MessageBody>()
    for (const [first] of this.files.values()) {
      const body = first === undefined ? undefined : summaryOf(first)
      if (first !== undefined && body !== undefined) summaries.set(first.key, body)
    }
    return [...summaries.values()]
  }

  /** The items of a session that has no other file. */
  *items(): Generator<TranscriptItem> {
    let live: readonly { readonly key: string; readonly id: string }[] = []
    let count = 0
    for (const messages of this.files.values()) {
      const [first] = messages
      const summary = first === undefined ? undefined : summaryOf(first)
      let rest = messages
      if (first !== undefined && summary !== undefined && live[0]?.key !== first.key) {
        const retained = live.filter(({ key }) => messages.some((message) => message.key === key))
        yield compaction(`compaction-${String(count + 1)}`, summary, retained, first.where)
        live = [{ key: first.key, id: '' }, ...retained]
        rest = messages.slice(1).filter(({ key }) => retained.every((each) => each.key !== key))
      } else {
        const common = messages.findIndex(({ key }, at) => live[at]?.key !== key)
        const shared = common === -1 ? messages.length : common
        const removed = live.slice(shared).flatMap(({ id }) => (id === '' ? [] : [id]))
        if (removed.length > 0 && first !== undefined)
          yield { kind: 'withdrawal', sourceIds: removed, where: first.where }
        live = live.slice(0, shared)
        rest = messages.slice(shared)
      }
      for (const { key, message, where } of rest) {
        count += 1
        const sourceId = `message-${String(count)}`
        const converted = kimiMessage(message)
        if (converted === undefined) yield { kind: 'left-out', what: jsonText(message['role']), where }
        else yield* messageItems([converted], { sourceId, where })
        live = [...live, { key, id: converted === undefined ? '' : sourceId }]
      }
    }
  }
}

function summaryOf({ message }: ContextMessage): MessageBody | undefined {
  const body = isRecord(message) ? kimiMessage(message)?.body : undefined
  return body?.role === 'user' && SUMMARY.test(contentText(body.content)) ? body : undefined
}

function compaction(
  sourceId: string,
  body: MessageBody,
  kept: readonly { readonly id: string }[],
  where: SourceLocation,
): TranscriptItem {
  return {
    kind: 'compaction',
    sourceId,
    trigger: 'unknown',
    summary: { kind: 'text', text: contentText(body.content) },
    context: contextAfter(
      body,
      kept.flatMap(({ id }) => (id === '' ? [] : [id])),
    ),
    where,
  }
}
