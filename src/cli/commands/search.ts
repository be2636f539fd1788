/** `search`: one query for people or scripts, or a file of queries answered line by line in one run. */
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { z } from 'zod'
import type { Ledger, SearchHit, SearchResult, WaitOptions } from '../../library/ledger.js'
import { LedgerError } from '../../library/problem.js'
import { InputError } from '../errors.js'
import { tellingCatchUp } from '../catching-up.js'
import type { Flags } from '../flags.js'
import { parseJsonLine } from '../json-line.js'
import { brief, colours, line, many, note, noteColours, printable, tellBehind, toJson, typed } from '../output.js'
import { withLedger } from '../session.js'

export interface SearchCommand {
  readonly query: string | undefined
  readonly queries: string | undefined
  readonly conversation: string | undefined
  readonly scope: string | undefined
  readonly limit: number | undefined
  readonly include: 'messages' | 'batches' | 'all'
  readonly wait: WaitOptions
  readonly json: boolean
}

/** Vectors that a search makes first: one request. */
const VECTORS_AT_ONCE = 64

const limitSchema = z.number().int().min(1).max(10_000)
const queryLine = z.object({
  query: z.string(),
  conversationId: z.string().min(1).optional(),
  limit: limitSchema.optional(),
})

/** A hit as the documents have it. */
function hitDocument({
  conversationId,
  batchId,
  messageIds,
  firstRevision,
  lastRevision,
  startTime,
  endTime,
  score,
  text,
}: SearchHit): unknown {
  return { conversationId, batchId, messageIds, firstRevision, lastRevision, startTime, endTime, score, text }
}

const resultDocument = ({ hits, ...more }: SearchResult): unknown => ({ hits: hits.map(hitDocument), ...more })

/** "m1", "m1 to m9, 5 messages". */
function messagesOf({ messageIds }: SearchHit): string {
  const [first = '', last = first] = [messageIds[0], messageIds.at(-1)]
  return printable(messageIds.length < 2 ? first : `${first} to ${last}, ${many(messageIds.length, 'message')}`)
}

/** Where a hit comes from, in words. */
export function provenance(hit: SearchHit): string {
  const revisions =
    hit.firstRevision === hit.lastRevision
      ? `revision ${hit.firstRevision.toString()}`
      : `revisions ${hit.firstRevision.toString()} to ${hit.lastRevision.toString()}`
  const times = hit.startTime === hit.endTime ? hit.startTime : `${hit.startTime} to ${hit.endTime}`
  return `${hit.batchId === null ? 'live' : hit.batchId} · ${messagesOf(hit)} · ${revisions} · ${times}`
}

function optionsOf(
  command: SearchCommand,
  conversationId: string | undefined,
  limit: number | undefined,
): Parameters<Ledger['search']>[1] {
  return {
    include: command.include,
    ...command.wait,
    ...(conversationId === undefined ? {} : { conversationId }),
    ...(conversationId === undefined && command.scope !== undefined ? { scope: command.scope } : {}),
    ...(limit === undefined ? {} : { limit }),
  }
}

async function answerLines(
  ledger: Ledger,
  command: SearchCommand,
  input: NodeJS.ReadableStream,
  file: string,
): Promise<void> {
  let number = 0
  for await (const text of createInterface({ input, crlfDelay: Infinity })) {
    number += 1
    if (text.trim() === '') continue
    const where = `${file === '-' ? 'standard input' : file}:${String(number)}`
    const {
      query,
      conversationId = command.conversation,
      limit = command.limit,
    } = parseJsonLine(text, where, queryLine)
    try {
      await line(
        toJson(
          resultDocument(
            await tellingCatchUp(ledger.projections, () =>
              ledger.search(query, optionsOf(command, conversationId, limit)),
            ),
          ),
        ),
      )
    } catch (error) {
      throw error instanceof LedgerError && error.fault === 'input'
        ? new InputError(error.failure.kind, `${where}: ${error.message}`)
        : error
    }
  }
}

async function answerFile(ledger: Ledger, command: SearchCommand, file: string): Promise<void> {
  const input: NodeJS.ReadableStream = file === '-' ? process.stdin : createReadStream(file)
  let failed: Error | undefined
  input.on('error', (error: Error) => {
    failed = error
  })
  const unreadable = (error: Error): InputError =>
    new InputError('Usage', `--queries ${file} cannot be read: ${error.message}`)
  try {
    await answerLines(ledger, command, input, file)
  } catch (error) {
    throw failed === undefined ? error : unreadable(failed)
  }
  if (failed !== undefined) throw unreadable(failed)
}

/** Runs the command. */
export async function runSearch(flags: Flags, command: SearchCommand): Promise<void> {
  if (command.query === undefined && command.queries === undefined)
    throw new InputError('Usage', 'give a query, or --queries FILE')
  if (command.query !== undefined && command.queries !== undefined)
    throw new InputError('Usage', 'give a query or --queries, not both')
  if (command.limit !== undefined && !limitSchema.safeParse(command.limit).success)
    throw new InputError('Usage', '--limit must be a whole number from 1 to 10000')
  // Nothing is made behind a command that ends right away: a small rest of vectors is made first, and of a large one it
  // is said what makes it.
  await withLedger(flags, { reads: true, searches: true, ahead: false }, async ({ ledger, config }) => {
    if (config.embeddingModel !== undefined)
      await ledger.projections.fillVectors({ limit: VECTORS_AT_ONCE }).catch((failure: unknown) => failure)
    if (command.queries !== undefined) {
      await answerFile(ledger, command, command.queries)
      return
    }
    const found = await tellingCatchUp(ledger.projections, () =>
      ledger.search(command.query ?? '', optionsOf(command, command.conversation, command.limit)),
    )
    if (command.json) {
      await line(toJson(resultDocument(found)))
      return
    }
    const { hits, behind, vectors } = found
    if (hits.length === 0) await line('nothing found')
    for (const [at, hit] of hits.entries()) {
      await line(
        `${colours.bold(`${String(at + 1)}. ${printable(hit.conversationId)}`)} ${colours.dim(provenance(hit))}`,
      )
      await line(`   ${brief(hit.text, 400)}\n`)
    }
    tellBehind(behind)
    if (vectors?.problem !== undefined)
      note(`${noteColours.yellow('note:')} found by words alone, or not by every meaning: ${vectors.problem}`)
    if (vectors !== undefined && vectors.missing > 0)
      note(
        `${noteColours.yellow('note:')} ${vectors.isAtLeast ? 'at least ' : ''}${many(vectors.missing, 'message')} without a vector, found by words alone; \`context-ledger projections vectors\` makes them`,
      )
    const archived = hits.find(({ batchId }) => batchId !== null)
    if (archived !== undefined)
      await line(
        colours.dim(
          `where a summary comes from: context-ledger explain ${typed(archived.conversationId)} --batch ${archived.batchId ?? ''}`,
        ),
      )
  })
}
