/**
 * Transcripts of other programs: parsed without recording, and recorded by `transcripts.import`. The baseline is the same
 * messages in a file in the ledger's own format, imported as by `context-ledger import`. Each measurement runs in a
 * separate process. Memory is the maximum of ten measurements after a garbage collection.
 */
import { plainContentId } from '../src/application/importers/content-id.js'
import { spawn } from 'node:child_process'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { readTranscript, recognizeTranscript } from '../src/application/importers/index.js'
import type { TranscriptItem } from '../src/application/importers/transcript.js'
import { openLedger, type MessageInput } from '../src/index.js'
import {
  against,
  atLeastShare,
  atMost,
  perSecond,
  reported,
  type Bench,
  type Figure,
  type Group,
} from './support/figures.js'
import { median } from './support/measure.js'
import { newPlace } from './support/places.js'
import { writeTranscript, type Program } from './support/transcript-files.js'

const MANY_MB = Number(process.env['CONTEXT_LEDGER_BENCH_TRANSCRIPT_MB'] ?? 40)
const FEW_MB = MANY_MB / 10
const ROUNDS = 3

const TITLES: Readonly<Record<Program, string>> = { 'claude-code': 'Claude Code', codex: 'Codex' }
const programs: readonly Program[] = ['claude-code', 'codex']

interface Measured {
  readonly megabytes: number
  readonly messages: number
  readonly seconds: number
  /** In MB; 0 if only time was measured. */
  readonly heapMb: number
}

async function itemsOf(path: string): Promise<AsyncIterable<TranscriptItem>> {
  const found = await recognizeTranscript(path)
  if (found === undefined) throw new Error(`${path} is of no program`)
  return readTranscript(path, found.importer, found.layout, plainContentId)
}

/** Measures the memory in use ten times, evenly over that many items; never if `items` is 0. */
function watchMemory(items: number): { readonly tick: () => void; heapMb: number } {
  setFlagsFromString('--expose-gc')
  const collect: unknown = runInNewContext('gc')
  let itemCount = 0
  const memory = {
    heapMb: 0,
    tick() {
      itemCount += 1
      if (items === 0 || itemCount % Math.max(1, Math.floor(items / 10)) !== 0) return
      if (typeof collect === 'function') collect()
      memory.heapMb = Math.max(memory.heapMb, process.memoryUsage().heapUsed / 1e6)
    },
  }
  return memory
}

async function parse(path: string, items: number): Promise<Omit<Measured, 'megabytes'>> {
  const memory = watchMemory(items)
  const times: number[] = []
  let messages = 0
  for (let round = 0; round < (items === 0 ? ROUNDS : 1); round += 1) {
    messages = 0
    const started = performance.now()
    for await (const item of await itemsOf(path)) {
      if (item.kind === 'message') messages += 1
      memory.tick()
    }
    times.push(performance.now() - started)
  }
  return { messages, seconds: median(times) / 1_000, heapMb: memory.heapMb }
}

/** If memory is measured, other processes run the read models, whose memory does not depend on the file. */
async function record(path: string, items: number, store: string): Promise<Omit<Measured, 'megabytes'>> {
  const ledger = await openLedger({ store, workers: items === 0 ? 'inside' : 'elsewhere' })
  const memory = watchMemory(items)
  const started = performance.now()
  const { conversations } = await ledger.transcripts.import(path, items === 0 ? {} : { onItem: memory.tick })
  if (items === 0) await ledger.admin.projections.catchUp()
  const seconds = (performance.now() - started) / 1_000
  await ledger.close()
  return { messages: conversations.reduce((sum, each) => sum + each.messages, 0), seconds, heapMb: memory.heapMb }
}

/** The same messages in the ledger's own format: with ids, but without the program's compactions. */
async function ownMessages(path: string): Promise<readonly MessageInput[]> {
  const messages: MessageInput[] = []
  for await (const item of await itemsOf(path)) {
    if (item.kind !== 'message') continue
    const { toolCalls, toolCallId, ...body } = item.body
    const message = { id: item.sourceId, ...body, tool_calls: toolCalls, tool_call_id: toolCallId }
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `append` parses it
    messages.push(JSON.parse(JSON.stringify(message)) as MessageInput)
  }
  return messages
}

async function importOwn(path: string, store: string): Promise<Omit<Measured, 'megabytes'>> {
  const messages = await ownMessages(path)
  const ledger = await openLedger({ store })
  const started = performance.now()
  for (const message of messages) {
    await ledger.append('own', message)
    await ledger.admin.waitForCompaction('own')
  }
  await ledger.admin.projections.catchUp()
  const seconds = (performance.now() - started) / 1_000
  await ledger.close()
  return { messages: messages.length, seconds, heapMb: 0 }
}

async function measured(what: string, path: string, items: number, store: string): Promise<Measured> {
  const megabytes = (await stat(path)).size / 1e6
  if (what === 'parse') return { megabytes, ...(await parse(path, items)) }
  return { megabytes, ...(what === 'own' ? await importOwn(path, store) : await record(path, items, store)) }
}

/** @param items total number of items, for ten measurements of the memory; 0 to measure only time */
async function inChild(what: 'parse' | 'record' | 'own', path: string, items: number, store = ''): Promise<Measured> {
  const child = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', fileURLToPath(import.meta.url), what, path, String(items), store],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  let text = ''
  child.stdout.on('data', (chunk: Buffer) => {
    text += chunk.toString('utf8')
  })
  const code = await new Promise<number | null>((resolve) => {
    child.on('close', resolve)
  })
  if (code !== 0) throw new Error(`${what} ended with ${String(code)}`)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the child is this file
  return JSON.parse(text) as Measured
}

async function withStore(bench: Bench, work: (store: string) => Promise<Measured>): Promise<Measured> {
  const location = await newPlace(bench.engine, 'transcripts')
  try {
    return await work(location.store)
  } finally {
    await location.remove()
  }
}

interface Files {
  readonly few: string
  readonly fewLines: number
  readonly many: string
  readonly manyLines: number
}

async function write(folder: string, program: Program): Promise<Files> {
  const few = join(folder, `${program}-few.jsonl`)
  const many = join(folder, `${program}-many.jsonl`)
  return {
    few,
    fewLines: await writeTranscript(few, program, FEW_MB * 1e6),
    many,
    manyLines: await writeTranscript(many, program, MANY_MB * 1e6),
  }
}

const megabytes = (value: number): string => `${value.toFixed(1)} MB`
const megabytesPerSecond = (value: number): string => `${value.toFixed(1)} MB/s`
const messagesPerSecond = (value: number): string => perSecond(value, 'messages')
const speed = ({ messages, seconds }: Measured): number => messages / seconds

function memoryFigure(name: string, few: Measured, many: Measured): Figure {
  const of = { name: `at ${few.megabytes.toFixed(0)} MB`, value: few.heapMb }
  return atMost(`memory held while ${name}, at ${many.megabytes.toFixed(0)} MB`, many.heapMb, of, 1.2, megabytes)
}

async function figuresOf(bench: Bench, program: Program, files: Files): Promise<readonly Figure[]> {
  const title = TITLES[program]
  bench.say(`${title}: reading`)
  const parsed = await inChild('parse', files.many, 0)
  const parsedFew = await inChild('parse', files.few, files.fewLines)
  const parsedMany = await inChild('parse', files.many, files.manyLines)
  bench.say(`${title}: recording`)
  const recorded = await withStore(bench, async (store) => await inChild('record', files.few, 0, store))
  const ownFormat = await withStore(bench, async (store) => await inChild('own', files.few, 0, store))
  const recordedFew = await withStore(bench, async (store) => await inChild('record', files.few, files.fewLines, store))
  const recordedMany = await withStore(
    bench,
    async (store) => await inChild('record', files.many, files.manyLines, store),
  )
  return [
    against(
      `reading a transcript of ${title}, nothing recorded`,
      parsed.megabytes / parsed.seconds,
      { least: 20 },
      megabytesPerSecond,
      undefined,
      `${megabytes(parsed.megabytes)}, ${parsed.messages.toLocaleString('en')} messages`,
    ),
    memoryFigure(`a transcript of ${title} is read`, parsedFew, parsedMany),
    atLeastShare(
      `recording a transcript of ${title}`,
      speed(recorded),
      { name: 'the same messages in our own form', value: speed(ownFormat) },
      0.8,
      messagesPerSecond,
      `${recorded.messages.toLocaleString('en')} messages, until the read models have caught up`,
    ),
    reported(
      `recording ten times as much of ${title}`,
      speed(recordedMany),
      messagesPerSecond,
      { name: `${recorded.megabytes.toFixed(0)} MB`, value: speed(recordedFew) },
      'both without the read models, and with ten looks at the memory',
    ),
    memoryFigure(`a transcript of ${title} is recorded`, recordedFew, recordedMany),
  ]
}

export const group: Group = {
  title: 'Transcripts of other programs',
  // A separate process runs the read models, which a directory store does not allow.
  only: 'native',
  async run(bench) {
    const folder = await mkdtemp(join(tmpdir(), 'bench-transcripts-'))
    try {
      const figures: Figure[] = []
      for (const program of programs) figures.push(...(await figuresOf(bench, program, await write(folder, program))))
      return figures
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  },
}

const [, script, what, path, items, store] = process.argv
if (script === fileURLToPath(import.meta.url) && what !== undefined && path !== undefined)
  process.stdout.write(JSON.stringify(await measured(what, path, Number(items), store ?? '')))
