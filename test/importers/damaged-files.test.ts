/**
 * Laws of all importers about files that are damaged or unusual: whatever can be read is read, the rest is named, nothing
 * is there twice, and a quotation is text. A new importer takes part with its sessions (`sessions`).
 */
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import fc from 'fast-check'
import { appendFile, mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { GrowingLines } from '../../src/application/importers/growing-lines.js'
import { importers } from '../../src/application/importers/index.js'
import { recordsOf, type RecordOrDamage } from '../../src/application/importers/records-of.js'
import type { TranscriptItem } from '../../src/application/importers/transcript.js'
import { openLedger } from '../../src/index.js'
import { damagedLines, type DamagedLines } from '../support/damage/damaged-lines.js'
import { oddForms } from '../support/damage/odd-values.js'
import { pendingForms, pendingRows } from '../support/damage/pending.js'
import { MARKERS, quotationOf } from '../support/damage/quotations.js'
import { repeatsOf } from '../support/damage/repeats.js'
import { contentOf, readSession, writeSession } from '../support/damage/session-files.js'
import { sessions, type Session } from '../support/damage/sessions.js'
import { runsOf } from '../support/length.js'
import { hasSqlite, provideSqlite } from '../support/sqlite-program.js'
import { describeWithTranscripts, realTranscripts } from '../support/real-transcripts.js'

let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'damaged-'))
  provideSqlite()
})
afterAll(async () => {
  jest.restoreAllMocks()
  await rm(folder, { recursive: true })
})

it('every importer has a session here', () => {
  expect(importers.filter(({ program }) => !sessions.some((session) => session.program === program))).toEqual([])
})

const firstFile = (session: Session | undefined): readonly [name: string, content: string] =>
  Object.entries(session?.files ?? {})[0] ?? ['', '']

interface LineFile {
  readonly session: Session
  /** Path of the file in the session. */
  readonly name: string
  readonly records: readonly string[]
}

/** The files of JSON lines of all sessions. */
const lineFiles: readonly LineFile[] = sessions.flatMap((session) =>
  Object.entries(session.files).flatMap(([name, content]) =>
    name.endsWith('.jsonl') ? [{ session, name, records: content.trimEnd().split('\n') }] : [],
  ),
)
const named = (files: readonly LineFile[]): (readonly [string, LineFile])[] =>
  files.map((file) => [`${file.session.program} ${file.name}`, file])

const linesOf = (records: readonly string[], indexes: readonly number[]): string =>
  indexes.map((index) => `${records[index] ?? ''}\n`).join('')

/** The lines of damage in a file. */
const damagedIn = (
  items: readonly (TranscriptItem | RecordOrDamage)[],
  name: string,
): readonly (number | undefined)[] =>
  items.flatMap((item) =>
    'kind' in item && item.kind === 'damage' && basename(item.where.file) === basename(name) ? [item.where.line] : [],
  )

/** Reads a file while it is written piece by piece. @returns what it yields, without the cut ends of earlier reads */
async function readGrowing(bytes: Buffer, shares: readonly number[]): Promise<readonly RecordOrDamage[]> {
  const path = join(folder, 'growing.jsonl')
  const lines = new GrowingLines(path)
  const cuts = [...shares.map((share) => Math.floor(share * bytes.length)), bytes.length].toSorted((a, b) => a - b)
  const records: RecordOrDamage[] = []
  await writeFile(path, '')
  let from = 0
  for (const cut of cuts) {
    await appendFile(path, bytes.subarray(from, cut))
    from = cut
    const file = await open(path)
    for await (const record of lines.records(file))
      if (!('kind' in record) || !record.isCut || cut === bytes.length) records.push(record)
    await file.close()
  }
  return records
}

const withoutFile = (records: readonly RecordOrDamage[]): readonly object[] =>
  records.map((record) => ({ ...record, where: { ...record.where, file: '' } }))

/** A property that prints no bytes if it fails. */
const damagedFiles = (records: readonly string[]): fc.Arbitrary<{ readonly damaged: DamagedLines }> =>
  damagedLines(records).map((damaged) => ({ damaged, toJSON: () => damaged.bytes.toString() }))

describe('glued and torn lines', () => {
  async function holdsFor(path: string, name: string, records: readonly string[], runs: number): Promise<void> {
    await fc.assert(
      fc.asyncProperty(
        damagedFiles(records),
        fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 4 }),
        async ({ damaged: { bytes, readable, damaged } }, shares) => {
          await writeFile(path, bytes)
          const read: RecordOrDamage[] = []
          for await (const record of recordsOf(path, 'lines')) read.push(record)
          expect(read.flatMap((record) => ('value' in record ? [record.where.line] : []))).toEqual(
            readable.map(({ line }) => line),
          )
          expect(damagedIn(read, name)).toEqual(damaged)
          expect(withoutFile(await readGrowing(bytes, shares))).toEqual(withoutFile(read))
        },
      ),
      { numRuns: runs },
    )
  }

  it.each(named(lineFiles))(
    'hide no record, and are named by their line, in a whole file and in one that grows: %s',
    async (_name, { session, name, records }) => {
      const path = await writeSession(session, folder)
      await holdsFor(join(folder, name), name, records, runsOf(100))
      await fc.assert(
        fc.asyncProperty(damagedFiles(records), async ({ damaged: { bytes, readable, damaged } }) => {
          await writeFile(
            join(folder, name),
            linesOf(
              records,
              readable.map(({ index }) => index),
            ),
          )
          const clean = await readSession(path)
          fc.pre(clean.program === session.program)
          await writeFile(join(folder, name), bytes)
          const read = await readSession(path)
          expect(read.program).toBe(session.program)
          expect(contentOf(read.items)).toEqual(contentOf(clean.items))
          expect(damagedIn(read.items, name)).toEqual(damaged)
        }),
        { numRuns: runsOf(60) },
      )
    },
  )

  it('that a sub-agent may have written are named at the session, and a torn record at the one that it is glued to', async () => {
    const session = sessions.find(({ program }) => program === 'copilot-cli')
    const [name, content] = firstFile(session)
    const records = content.trimEnd().split('\n')
    const inAgent = records.findIndex((record) => record.includes('"agentId"'))
    const ledger = await openLedger({ store: 'memory' })
    const damageOf = async (change: (record: string) => string): Promise<readonly string[]> => {
      const path = join(folder, basename(name))
      await writeFile(path, records.map((record, at) => `${at === inAgent + 1 ? change(record) : record}\n`).join(''))
      const { conversations } = await ledger.transcripts.import(path)
      return conversations.flatMap(({ sourceId, damaged }) => (damaged > 0 ? [sourceId] : []))
    }
    const root = /"sessionId":"([^"]+)"/u.exec(content)?.[1] ?? ''
    expect(await damageOf((record) => `${record.slice(0, 80)}\n${record}`)).toEqual([root])
    expect(await damageOf((record) => `${record.slice(0, 90)}${record}`)).toEqual([`${root}/a1`])
    await ledger.close()
  })

  describeWithTranscripts('in real files', () => {
    it('hide no record', async () => {
      for (const { path, name } of await realTranscripts()) {
        if (!path.endsWith('.jsonl')) continue
        // Whole records from the file's beginning, so that the law stays quick.
        const records = (await readFile(path, 'utf8'))
          .split('\n')
          .filter((line) => line.startsWith('{') && line.endsWith('}'))
          .slice(0, 40)
        const outcome = await holdsFor(join(folder, 'real.jsonl'), 'real.jsonl', records, runsOf(30)).catch(
          (error: unknown) => error,
        )
        expect([name, outcome]).toEqual([name, undefined])
      }
    })
  })
})

/** Files of lines without an id or a time: nothing distinguishes a repeat from what the user says twice. */
const withoutIdentity = /agent-transcripts|older-uuid|kimi-code|chatSessions/u

describe('a record that is written twice', () => {
  it.each(named(lineFiles.filter(({ name }) => !withoutIdentity.test(name))))(
    'is there once, and counted: %s',
    async (_name, { session, name, records }) => {
      const path = await writeSession(session, folder)
      const clean = await readSession(path)
      await fc.assert(
        fc.asyncProperty(repeatsOf(session.program, records), async (lines) => {
          await writeFile(join(folder, name), lines.map((line) => `${line}\n`).join(''))
          const { items } = await readSession(path)
          expect(contentOf(items)).toEqual(contentOf(clean.items))
        }),
        { numRuns: runsOf(60) },
      )
    },
  )

  it.each(['claude-code', 'codex', 'qwen', 'copilot-cli', 'pi'])(
    'with another time is what the user says twice: %s',
    async (program) => {
      const file = lineFiles.find(({ session }) => session.program === program)
      if (file === undefined) throw new Error(program)
      const path = await writeSession(file.session, folder)
      const repeated = (file.records.findLast((record) => /"role":"user"|user\.message/u.test(record)) ?? '')
        .replaceAll(/"(id|uuid)":"([^"]+)"/gu, '"$1":"$2-again"')
        .replace(/(T\d\d:\d\d:)\d\d/u, '$159')
      const before = contentOf((await readSession(path)).items)
      await appendFile(path, `${repeated}\n`)
      const after = contentOf((await readSession(path)).items)
      expect(after.filter((item) => item.startsWith('message'))).toHaveLength(
        before.filter((item) => item.startsWith('message')).length + 1,
      )
    },
  )
})

/** Lines of a session after or before which a quotation stands: of each speaker, and of a tool's output. */
const QUOTED_PLACES: Readonly<Record<string, readonly RegExp[]>> = {
  aider: [/^I look into the hold\.$/mu, /^They are on the quay\.$/mu],
  specstory: [/^And the hatch\.$/mu, /^The barrel leaks\.$/mu, /^The deck is tarred\.$/mu, /^Tar first\.$/mu],
}
/** A line of a tool's output, which has a fence already. */
const TOOL_OUTPUT = /^one barrel$/mu
const isFence = (line: string): boolean => /^\s*(?:`{3}|~{3})/u.test(line)

const shapeOf = (items: readonly TranscriptItem[]): readonly string[] =>
  items.flatMap((item) =>
    item.kind === 'conversation'
      ? [item.sourceId]
      : item.kind === 'message'
        ? [`${item.sourceId.replace(/line-\d+/u, '')} ${item.body.role}`]
        : [],
  )

describe.each(Object.keys(MARKERS))('a quotation in Markdown of %s', (program) => {
  const session = sessions.find((each) => each.program === program)
  const [name, content] = firstFile(session)
  const read = async (text: string): Promise<readonly TranscriptItem[]> => {
    const path = join(folder, basename(name))
    await writeFile(path, text)
    return (await readSession(path)).items
  }

  it('is text, with all markers of the format', async () => {
    const clean = shapeOf(await read(content))
    for (const quotedPlace of [...(QUOTED_PLACES[program] ?? []), ...(program === 'specstory' ? [TOOL_OUTPUT] : [])])
      await fc.assert(
        fc.asyncProperty(quotationOf(program), fc.boolean(), async (quotation, isBefore) => {
          const lines = quotedPlace === TOOL_OUTPUT ? quotation.filter((line) => !isFence(line)) : quotation
          const text = lines.join('\n')
          const items = await read(
            content.replace(quotedPlace, (line) => (isBefore ? `${text}\n${line}` : `${line}\n${text}`)),
          )
          expect(shapeOf(items)).toEqual(clean)
          const recorded = JSON.stringify(items)
          for (const line of lines) expect(recorded).toContain(JSON.stringify(line.trim()).slice(1, -1))
        }),
        { numRuns: runsOf(60) },
      )
  })

  it.each(['```py\ncode', '```\ncode', '~~~\ncode'])('without its end hides nothing: %j', async (cut) => {
    const clean = shapeOf(await read(content))
    const [quotedPlace = /^$/u] = QUOTED_PLACES[program] ?? []
    for (const later of ['', '```py\nx = 1\n```', '```\nx = 1\n```']) {
      const text = content
        .replace(quotedPlace, (line) => `${line}\n${cut}`)
        .replace(/^(?:They are on the quay|The deck is tarred)\.$/mu, (line) => `${line}\n\n${later}`)
      expect(shapeOf(await read(text))).toEqual(clean)
    }
  })
})

/** What the user and the model say, as JSON. */
const textsIn = (items: readonly TranscriptItem[]): readonly string[] =>
  items.flatMap((item) =>
    item.kind === 'message' && item.body.role !== 'tool' && typeof item.body.content === 'string'
      ? [JSON.stringify(item.body.content)]
      : [],
  )

describe('a record that is not finished', () => {
  /** ATIF is exported when a run has ended, and its schema has no unfinished steps. */
  const all = sessions.filter(({ program, isDatabase }) => program !== 'atif' && (isDatabase !== true || hasSqlite))

  it.each(all.map((session) => [`${session.program} ${Object.keys(session.files)[0] ?? ''}`, session] as const))(
    'hides nothing that follows it: %s',
    async (_name, session) => {
      const root = await mkdtemp(join(folder, 'pending-'))
      const clean = textsIn((await readSession(await writeSession(session, root))).items)
      const forms = Object.entries(session.files).flatMap(([name, content]) =>
        (session.isDatabase === true ? pendingRows(content) : pendingForms(name, content)).map((form) => ({
          ...form,
          name,
        })),
      )
      // A database takes longer to write.
      const runs = runsOf(session.isDatabase === true ? 30 : 200)
      const step = Math.max(1, Math.ceil(forms.length / runs))
      for (const [at, { name, content, record }] of forms.filter((_form, index) => index % step === 0).entries()) {
        const folderOfForm = join(root, String(at))
        const path = await writeSession({ ...session, files: { ...session.files, [name]: content } }, folderOfForm)
        const { program, items } = await readSession(path)
        if (program !== session.program) continue
        const texts = textsIn(items)
        const missing = clean.filter((text) => !texts.includes(text) && !record.includes(text.slice(1, -1)))
        expect({ record, missing }).toEqual({ record, missing: [] })
      }
    },
  )
})

describe('a value that the program does not write', () => {
  it.each(
    sessions
      .filter(({ isDatabase }) => isDatabase !== true)
      .map((session) => [`${session.program} ${Object.keys(session.files)[0] ?? ''}`, session] as const),
  )('makes no reader fail: %s', async (_name, session) => {
    const root = await mkdtemp(join(folder, 'odd-'))
    const path = await writeSession(session, root)
    const forms = Object.entries(session.files).flatMap(([name, content]) =>
      oddForms(name, content).map((form) => ({ form, name })),
    )
    const faults: string[] = []
    let step = Math.max(1, Math.ceil(forms.length / runsOf(1_200)))
    // The values of each place come in tens.
    while (step % 2 === 0 || step % 5 === 0) step += 1
    for (const { form, name } of forms.filter((_form, at) => at % step === 0)) {
      const { content, what } = form()
      await writeFile(join(root, name), content)
      const read = await readSession(path).catch((error: unknown) => error)
      if (read instanceof Error) faults.push(`${what}: ${read.stack?.split('\n').slice(0, 3).join(' | ') ?? ''}`)
      await writeFile(join(root, name), session.files[name] ?? '')
    }
    expect(faults).toEqual([])
  })
})

describe('two calls of one id in one answer', () => {
  it.each(
    sessions
      .filter(({ isDatabase }) => isDatabase !== true)
      .map((session) => [`${session.program} ${Object.keys(session.files)[0] ?? ''}`, session] as const),
  )('are two calls, and hide no text: %s', async (_name, session) => {
    const root = await mkdtemp(join(folder, 'calls-'))
    const path = await writeSession(session, root)
    const clean = await readSession(path)
    const pairs = clean.items.flatMap((item) => {
      const [first, second] = item.kind === 'message' ? (item.body.toolCalls ?? []) : []
      return first === undefined || second === undefined ? [] : [[first.id, second.id] as const]
    })
    for (const [first, second] of pairs) {
      for (const [name, content] of Object.entries(session.files))
        await writeFile(join(root, name), content.replaceAll(second, first))
      const { items } = await readSession(path)
      expect(items.filter(({ kind }) => kind === 'damage')).toEqual([])
      expect(textsIn(items)).toEqual(textsIn(clean.items))
    }
  })
})
