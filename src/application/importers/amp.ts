/**
 * Amp: a JSON file for each thread in `~/.local/share/amp/threads/`. A compaction is a message with the role `info` and a
 * summary; the messages before it leave the context. Written for threads of 2025 until 2026-03-31, after which Amp keeps
 * threads on its server; Amp publishes no format, and agentsview describes this one.
 */
import { dataFolder } from '../../lib/platform.js'
import { isRecord } from '../../lib/is-record.js'
import { join } from 'node:path'
import { contextAfter, knownUsage, messageItems } from './message-items.js'
import { textIn } from '../../lib/text-in.js'
import { countIn, type Fields, inside, jsonText, listIn, pathOfUri, timeIn } from './bodies.js'
import { messagesIn } from './task-blocks.js'
import type { Head, Importer, Layout, SourceLocation, TranscriptItem, TranscriptRecord, Usage } from './transcript.js'

/** A result in the form of Anthropic's API; undefined while the tool runs. */
function resultBlock(block: Fields): unknown {
  const run = block['run']
  const status = textIn(inside(run, 'status'))
  const result = inside(run, 'result')
  const failed = status === 'error' || status === 'cancelled' || inside(result, 'success') === false
  const has = result !== undefined && result !== null
  if (!has && !failed) return undefined
  const content = has ? jsonText(result) : (textIn(inside(run, 'error', 'message')) ?? status ?? '')
  return { type: 'tool_result', tool_use_id: block['toolUseID'], content, is_error: failed }
}

const blocksOf = (content: unknown): readonly unknown[] =>
  (Array.isArray(content) ? content : [content]).flatMap((block: unknown) => {
    if (!isRecord(block) || block['type'] !== 'tool_result' || 'tool_use_id' in block) return [block]
    const result = resultBlock(block)
    return result === undefined ? [] : [result]
  })

function usageOf(usage: unknown): Usage | undefined {
  const count = (name: string): number | undefined => countIn(inside(usage, name))
  return knownUsage({
    inputTokens: count('totalInputTokens') ?? count('inputTokens'),
    outputTokens: count('outputTokens'),
    cacheReadTokens: count('cacheReadInputTokens'),
    cacheWriteTokens: count('cacheCreationInputTokens'),
  })
}

function summaryOf(message: Fields): string | undefined {
  const blocks: readonly unknown[] = Array.isArray(message['content']) ? message['content'] : []
  return blocks.flatMap((block) =>
    inside(block, 'type') === 'summary' ? (textIn(inside(block, 'summary', 'summary')) ?? []) : [],
  )[0]
}

function* threadMessage(message: Fields, sourceId: string, where: SourceLocation): Generator<TranscriptItem> {
  const { role, content, usage, meta } = message
  const summary = summaryOf(message)
  const at = timeIn(inside(usage, 'timestamp')) ?? timeIn(inside(meta, 'sentAt'))
  if (summary !== undefined) {
    yield {
      kind: 'compaction',
      sourceId,
      at,
      trigger: 'unknown',
      summary: { kind: 'text', text: summary },
      context: contextAfter({ role: 'user', content: summary }),
      where,
    }
    return
  }
  const messages = messagesIn(textIn(role) ?? '', blocksOf(content), undefined, sourceId)
  if (messages.length === 0) yield { kind: 'left-out', what: `message of ${textIn(role) ?? 'unknown'}`, where }
  const model = textIn(inside(usage, 'model'))
  yield* messageItems(messages, { sourceId, at, answerId: sourceId, model, usage: usageOf(usage), where })
}

function* take({ value, where }: TranscriptRecord): Generator<TranscriptItem> {
  if (!isRecord(value) || !Array.isArray(value['messages'])) {
    yield { kind: 'left-out', what: 'thread', where }
    return
  }
  const tree = textIn(inside(listIn(inside(value, 'env', 'initial', 'trees'))[0], 'uri'))
  yield {
    kind: 'conversation',
    sourceId: textIn(value['id']) ?? where.file,
    title: textIn(value['title']),
    cwd: tree?.startsWith('file://') === true ? pathOfUri(tree) : undefined,
    startedAt: timeIn(countIn(value['created'])),
    where,
  }
  for (const [at, message] of (value['messages'] as readonly unknown[]).entries()) {
    const location = { ...where, path: `messages[${String(at)}]` }
    if (!isRecord(message) || inside(message, 'state', 'type') === 'streaming') {
      // Amp is still writing the answer; the next import reads it.
      yield { kind: 'left-out', what: 'unfinished answer', where: location }
      return
    }
    yield* threadMessage(message, `message-${String(countIn(message['messageId']) ?? at)}`, location)
  }
}

/** The beginning of a thread that is too large to parse here. */
const BEGIN = /^\s*\{\s*"v"\s*:\s*\d+\s*,\s*"id"\s*:\s*"T-/u

function recognize({ records, text }: Head): Layout | undefined {
  const [value] = records
  if (value === undefined) return BEGIN.test(text) ? 'json' : undefined
  return isRecord(value) && textIn(value['id'])?.startsWith('T-') === true && Array.isArray(value['messages'])
    ? 'json'
    : undefined
}

/** The importer of Amp. */
export const amp: Importer = {
  program: 'amp',
  title: 'Amp',
  homes(environment, home) {
    const data = dataFolder(environment, home)
    const folders = textIn(environment['AMP_DATA_DIR'])?.split(',') ?? [join(data, 'amp')]
    return folders.map((folder) => join(folder.trim(), 'threads'))
  },
  recognize,
  read: () => ({ take, end: () => [] }),
}
