/** Hands a conversation over to another program: plans, writes the file, and imports it as a branch. */
import { randomUUID } from 'node:crypto'
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { isBare, openingWords } from '../domain/text/title.js'
import { HANDOFF_TOKENS, planHandoff, type HandoffPlan } from '../handoff/plan.js'
import type { ProgramDirectory, Session, SessionWriter, WrittenSession } from '../handoff/session.js'
import { sessionWriters } from '../handoff/writers/index.js'
import { titleOfProgram } from '../importers/index.js'
import { LedgerError } from '../lib/ledger-error.js'
import type { Clock } from '../ports/clock.js'
import { codeOf, sentenceOf } from '../ports/store-error.js'
import { missingContext, type MissingContext } from '../recall/missing-context.js'
import { redactorFor } from '../recording/redaction.js'
import type { Gate } from './gate.js'
import type { Transcripts } from './ledger.js'
import type { Handoff, HandoffOptions } from './ledger-transcripts.js'
import type { Lookup } from './lookup.js'
import { bad, optionsGiven, textGiven, type Names } from './options.js'
import type { LedgerParts } from './parts.js'
import { problem, valueOf } from './problem.js'

const OPTIONS: Names<HandoffOptions> = { to: true, budget: true, home: true, cwd: true, actor: true }

export interface HandoffParts extends Pick<LedgerParts, 'log' | 'policy'> {
  readonly clock: Clock
  readonly gate: Gate
  readonly lookup: Lookup
  readonly importTranscript: Transcripts['import']
}

/** The text of a file; undefined if it is missing or cannot be read. */
const readText = async (path: string): Promise<string | undefined> =>
  await readFile(path, 'utf8').catch(() => undefined)

const directoryAt = (path: string): ProgramDirectory => ({
  path,
  read: async (file) => await readText(join(path, file)),
  list: async (directory) => await readdir(join(path, directory)).catch(() => []),
})

const isDirectory = async (path: string): Promise<boolean> =>
  await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  )

function writerFor(program: unknown): SessionWriter {
  const writer = sessionWriters.find((each) => each.program === program)
  if (writer !== undefined) return writer
  const programs = sessionWriters.map((each) => each.program)
  throw problem({ kind: 'NoSessionWriter', program: String(program), programs })
}

/** Writes a new file with its directories, readable by its owner only. */
async function writeNew(file: string, content: string): Promise<void> {
  try {
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, content, { flag: 'wx', mode: 0o600 })
  } catch (error) {
    if (codeOf(error) === 'EEXIST')
      throw new LedgerError('FileExists', `${file} exists, and a handoff never overwrites a file`)
    throw new LedgerError('FileUnusable', `the session cannot be written: ${sentenceOf(error)}`)
  }
}

/** The title of the conversation; without one, the first words of the user that say something. */
const titleOf = ({ title, before }: MissingContext): string | undefined =>
  title ??
  before
    .filter(({ role, byProgram }) => role === 'user' && byProgram !== true)
    .map(({ ownText }) => openingWords(ownText))
    .find((words) => words !== undefined && !isBare(words))

/** The session of a plan, as the program stores it. */
async function sessionOf(
  writer: SessionWriter,
  directory: ProgramDirectory,
  { origin }: MissingContext,
  { turns, handover }: HandoffPlan,
  { title, cwd, at }: Pick<Session, 'title' | 'at'> & { readonly cwd: string | undefined },
): Promise<WrittenSession> {
  const { path } = directory
  if (!(await isDirectory(path)))
    throw problem({
      kind: 'NoProgramDirectory',
      title: titleOfProgram(writer.program),
      directory: path,
      lacks: undefined,
    })
  const session = {
    id: randomUUID(),
    cwd: cwd === undefined ? (origin?.cwd ?? process.cwd()) : resolve(cwd),
    title,
    at,
    handover,
    turns,
  }
  const written = await writer.write(session, directory)
  if (typeof written === 'string')
    throw problem({
      kind: 'NoProgramDirectory',
      title: titleOfProgram(writer.program),
      directory: path,
      lacks: written,
    })
  return written
}

export function createHandoff(parts: HandoffParts): Pick<Transcripts, 'handoff'> {
  const { log, clock, gate, lookup, policy, importTranscript } = parts
  return {
    async handoff(conversationId, options) {
      const { to, budget = HANDOFF_TOKENS, home, cwd, actor } = optionsGiven('transcripts.handoff', options, OPTIONS)
      gate.writes('transcripts.handoff')
      const writer = writerFor(to)
      if (!Number.isSafeInteger(budget) || budget < 1) throw bad('budget', 'must be a whole number of at least 1')
      if (cwd !== undefined) textGiven('cwd', cwd)
      await lookup.isThere(conversationId)
      const missing = await missingContext(log, conversationId)
      const redactor = valueOf(await redactorFor(log, { ...policy, redaction: 'on' }), problem)
      const redact = <T>(value: T): T => redactor?.json(value).value ?? value
      const plan = valueOf(
        planHandoff(missing, {
          to: writer.program,
          budget,
          conversationId,
          redact,
        }),
        problem,
      )
      const path = home === undefined ? writer.home(process.env, homedir()) : resolve(textGiven('home', home))
      const at = clock.now().toISOString()
      const written = await sessionOf(writer, directoryAt(path), missing, plan, {
        title: redact(titleOf(missing)),
        cwd,
        at,
      })
      const file = join(path, written.path)
      await writeNew(file, written.content)
      const imported = await importTranscript(file, {
        from: writer.program,
        continues: conversationId,
        ...(missing.state.configuration?.scope === undefined ? {} : { scope: missing.state.configuration.scope }),
        ...(actor === undefined ? {} : { actor }),
      })
      const { turns: _turns, handover: _handover, note, ...report } = plan
      const { tokens, entries, omitted } = note
      return {
        program: writer.program,
        file,
        resume: written.resume(file),
        conversationId: imported.conversations[0]?.conversationId ?? '',
        ...report,
        note: { tokens, entries, omitted },
      } satisfies Handoff
    },
  }
}
