/** Hands a conversation over to another program: plans, writes the file, and imports it as a branch. */
import { randomUUID } from 'node:crypto'
import { mkdir, readdir, readFile, stat } from 'node:fs/promises'
import { dirname, join, resolve, sep } from 'node:path'
import { isBare, openingWords } from '../domain/text/title.js'
import { SAME_PROGRAM } from '../domain/values/handoff-programs.js'
import type { Repairs } from '../application/handoff/handed-messages.js'
import { HANDOFF_TOKENS, planHandoff, type HandoffPlan } from '../application/handoff/plan.js'
import {
  atDistinctTimes,
  type ProgramDirectory,
  type ProgramUser,
  type Session,
  type SessionWriter,
  type WrittenSession,
} from '../application/handoff/session.js'
import { sessionWriters } from '../application/handoff/writers/index.js'
import { importers, itemsOfText, titleOfProgram } from '../application/importers/index.js'
import { createTranscriptRecorder } from '../application/importers/record-transcript.js'
import type { TranscriptItem } from '../application/importers/transcript.js'
import { LedgerError } from '../lib/ledger-error.js'
import { homeFolder } from '../lib/user-folders.js'
import { writeNewFile } from '../ports/new-file.js'
import { sentenceOf } from '../ports/store-error.js'
import {
  compareWithContext,
  type ContextComparison,
  type Withdrawal,
} from '../application/recall/context-comparison.js'
import { redactorFor } from '../application/recording/redaction.js'
import { copiedMessages } from './copied-messages.js'
import * as calls from '../schema/calls/transcripts.js'
import type { Transcripts } from './ledger.js'
import type { LedgerErasure } from './ledger-erasure.js'
import type { Handoff, HandoffOptions, Repaired, WithdrawnPart } from './ledger-transcripts.js'
import type { Lookup } from './lookup.js'
import { bad, textGiven } from './options.js'
import { problem, valueOf } from './problem.js'
import { ledgerContentId, parentOf, type TranscriptsParts } from './transcripts.js'

export interface HandoffParts extends TranscriptsParts {
  readonly lookup: Lookup
  readonly erasure: Pick<LedgerErasure, 'run'>
}

/** The text of a file; undefined if it is missing or cannot be read. */
const readText = async (path: string): Promise<string | undefined> =>
  await readFile(path, 'utf8').catch(() => undefined)

/** @param user the user with the settings that apply */
const directoryAt = (path: string, user: ProgramUser | undefined): ProgramDirectory => ({
  path,
  user,
  read: async (file) => await readText(resolve(path, file)),
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

/** The end of a directory of data in the home directory of a user. */
const USER_DATA = join(sep, '.local', 'share')

/** The program's directory. A named one has the settings of a user if it is in a home directory. */
function directoryFor(writer: SessionWriter, home: string | undefined): ProgramDirectory {
  if (home === undefined)
    return directoryAt(writer.home(process.env, homeFolder()), { environment: process.env, home: homeFolder() })
  const path = resolve(textGiven('home', home))
  const data = dirname(path)
  const user = data.endsWith(USER_DATA) ? { environment: {}, home: data.slice(0, -USER_DATA.length) } : undefined
  return directoryAt(path, user)
}

/** The program for which the session is written. */
function targetOf({ to, repair }: HandoffOptions, { origin, state }: ContextComparison): SessionWriter {
  if (repair !== true && to !== SAME_PROGRAM) return writerFor(to)
  if (origin === undefined) throw problem({ kind: 'NoProgram', conversationId: state.conversationId })
  if (to !== undefined && to !== SAME_PROGRAM && to !== origin.program)
    throw bad(
      'to',
      `must be ${origin.program}, the program of the conversation, or \`same\`, or absent with \`repair\``,
    )
  return writerFor(origin.program)
}

const withdrawnPart = ({ messages }: Withdrawal): WithdrawnPart => ({
  messageId: messages[0]?.messageId ?? '',
  messages: messages.length,
  text: messages
    .filter(({ role, byProgram }) => role === 'user' && byProgram !== true)
    .map(({ text }) => openingWords(text))
    .find((words) => words !== undefined),
})

/** The losses that a repair cannot undo. */
const lostIn = ({ damaged, removed }: ContextComparison, { summary }: HandoffPlan): Omit<Repaired, keyof Repairs> => ({
  missingSummaries: removed.length > 0 && summary !== 'text' ? 1 : 0,
  unreadableRecords: damaged,
})

/** The conversation before this message was withdrawn. */
async function beforeWithdrawal(
  log: HandoffParts['log'],
  now: ContextComparison,
  messageId: string,
): Promise<ContextComparison> {
  const found = now.withdrawals.findLast(({ messages }) => messages.some((message) => message.messageId === messageId))
  if (found === undefined) {
    const roots = now.withdrawals.map((each) => withdrawnPart(each).messageId)
    throw problem({ kind: 'NotWithdrawn', messageId, roots })
  }
  return await compareWithContext(log, now.state.conversationId, found.revision - 1)
}

async function createDirectory(path: string): Promise<void> {
  await mkdir(path, { recursive: true }).catch((error: unknown) => {
    throw new LedgerError('FileUnusable', `the session cannot be written: ${sentenceOf(error)}`)
  })
}

/** The title of the conversation; without one, the first words of the user that say something. */
const titleOf = ({ title, before }: ContextComparison): string | undefined =>
  title ??
  before
    .filter(({ role, byProgram }) => role === 'user' && byProgram !== true)
    .map(({ ownText }) => openingWords(ownText))
    .find((words) => words !== undefined && !isBare(words))

/** The session of a plan, as the program stores it. */
async function sessionOf(
  writer: SessionWriter,
  directory: ProgramDirectory,
  { origin }: ContextComparison,
  { turns, turnsBefore, handover }: HandoffPlan,
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
    turnsBefore,
    turns: atDistinctTimes(turns),
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

/** The session as a branch of the conversation, each message with the messages that it is a copy of. */
class Branch {
  private readonly items: readonly TranscriptItem[]

  constructor(
    private readonly parts: HandoffParts,
    private readonly conversationId: string,
    private readonly program: string,
    file: string,
    content: string,
  ) {
    const importer = importers.find((each) => each.program === program)
    const items = importer === undefined ? undefined : itemsOfText(content, file, importer, ledgerContentId(parts.log))
    if (items === undefined) throw problem({ kind: 'NotOfProgram', file, program })
    this.items = items
  }

  /** Records it. Returns the id of its conversation. */
  async record(plan: HandoffPlan, now: ContextComparison, actor: string | undefined): Promise<string> {
    const { parts, conversationId } = this
    const { log, conversations, freshness, lookup } = parts
    const recorded = await createTranscriptRecorder(parts).take(itemsInOrder(this.items), {
      program: this.program,
      scope: now.state.configuration?.scope,
      settings: parts.policy,
      provenance: parts.provenanceOf(actor === undefined ? {} : { actor }),
      parent: await parentOf(log, conversationId),
      ...(log.keys === undefined ? {} : { copied: copiedMessages(conversationId, plan, this.items, now.subjects) }),
    })
    const result = valueOf(recorded, problem)
    for (const { position } of result.conversations) freshness.noteRecorded({ position })
    const branch = result.conversations[0]?.conversationId ?? ''
    conversations.forget(conversationId)
    const { erasure } = await lookup.existing(conversationId)
    if (erasure !== undefined && erasure.at > now.revision) {
      await parts.erasure.run({ conversationId: branch }, { reason: 'its source was erased during the handoff' })
      throw problem({ kind: 'ErasurePending', conversationId })
    }
    return branch
  }
}

// oxlint-disable-next-line typescript/require-await -- a recorder takes items that arrive over time
async function* itemsInOrder(items: readonly TranscriptItem[]): AsyncGenerator<TranscriptItem> {
  yield* items
}

export function createHandoff(parts: HandoffParts): Pick<Transcripts, 'handoff'> {
  const { log, clock, gate, lookup, policy } = parts
  return {
    async handoff(conversationId, options) {
      const checked = gate.enter(calls.handoff, options)
      const { repair = false, withdrawn, home, cwd, actor } = checked
      const { budget = repair ? Number.MAX_SAFE_INTEGER : HANDOFF_TOKENS } = checked
      if (!repair && checked.to !== SAME_PROGRAM) writerFor(checked.to)
      await lookup.isThere(conversationId)
      parts.freshness.follow()
      const now = await compareWithContext(log, conversationId)
      if ((now.state.erasure?.pending.length ?? 0) > 0) throw problem({ kind: 'ErasurePending', conversationId })
      const missing = withdrawn === undefined ? now : await beforeWithdrawal(log, now, withdrawn)
      const writer = targetOf(checked, now)
      const redactor = valueOf(await redactorFor(log, { ...policy, redaction: 'on' }), problem)
      const redact = <T>(value: T): T => redactor?.json(value).value ?? value
      const plan = valueOf(
        planHandoff(missing, { to: writer.program, isRepair: repair, budget, conversationId, redact }),
        problem,
      )
      const directory = directoryFor(writer, home)
      const written = await sessionOf(writer, directory, missing, plan, {
        title: redact(titleOf(missing)),
        cwd,
        at: clock.now().toISOString(),
      })
      const file = join(directory.path, written.path)
      const branch = new Branch(parts, conversationId, writer.program, file, written.content)
      await createDirectory(dirname(file))
      let branchId = ''
      const record = async (): Promise<void> => {
        branchId = await branch.record(plan, now, actor)
      }
      // A process that watches the directory must not import the session before it is recorded as a copy.
      await writeNewFile(file, async () => await Promise.resolve(written.content), record)
      const {
        turns: _turns,
        sources: _sources,
        handover: _handover,
        turnsBefore: _before,
        note,
        repairs,
        ...report
      } = plan
      const { tokens, entries, omitted } = note
      return {
        program: writer.program,
        file,
        resume: written.resume(file),
        conversationId: branchId,
        ...report,
        note: { tokens, entries, omitted },
        withdrawn: redact(missing.withdrawals.map(withdrawnPart)),
        ...(repair ? { repaired: { ...repairs, ...lostIn(missing, plan) } } : {}),
      } satisfies Handoff
    },
  }
}
