/**
 * Redaction of commands: the one place through which every text goes before it is decided on, hashed and stored. The
 * events of a command follow from the redacted one, so that ids, hashes and token counts are those of the redacted text.
 */
import { either as E } from 'fp-ts'
import { randomBytes } from 'node:crypto'
import type { Conversation } from '../domain/conversation/conversation.js'
import type { Command } from '../domain/decide/index.js'
import type { BadPolicy, PolicySettings } from '../domain/values/policy.js'
import type { BadPattern } from '../secrets/own-patterns.js'
import { Redactor, type Replacements, type SecretMark } from '../secrets/redact.js'
import type { Log } from './load-conversation.js'

/** The part of the settings that redaction depends on. */
type RedactionSettings = Pick<PolicySettings, 'redaction' | 'secretPatterns' | 'secretAllow'>

/** Redacted commands, and the replacements of their secrets. */
export interface RedactedCommands {
  readonly commands: readonly Command[]
  readonly replacements: Replacements
}

/** Whether a command has texts from outside. Others refer only to recorded events. */
const HAS_TEXT: Readonly<Record<Command['type'], boolean>> = {
  Configure: false,
  Expect: false,
  AppendMessages: true,
  WithdrawMessages: false,
  PinMessage: false,
  UnpinMessage: false,
  RecordChunk: true,
  SetSummaryAside: true,
  ArchiveAndPrune: false,
  RecordResummarization: true,
  RecordFailure: true,
  RecordCouldNotHelp: false,
  StartEdition: false,
  DropEdition: false,
  RecordComparison: true,
  AdoptEdition: false,
  RevertEdition: false,
  UndoCycles: false,
  ObserveConversation: true,
  ObserveCompaction: true,
  EditContribution: true,
  TitleConversation: true,
  NoteDamage: true,
}

/** The redactors of a log, by their settings. */
class Redactors {
  private readonly bySettings = new Map<string, E.Either<BadPolicy, Redactor>>()
  /** The key of a log without one, which belongs to this process. */
  private readonly ownKey = randomBytes(32)

  constructor(private readonly log: Log) {}

  async get({ secretPatterns, secretAllow }: RedactionSettings): Promise<E.Either<BadPolicy, Redactor>> {
    const name = JSON.stringify([secretPatterns, secretAllow])
    const known = this.bySettings.get(name)
    if (known !== undefined) return known
    const key = (await this.log.secretsKey?.()) ?? this.ownKey
    const created = E.mapLeft(({ pattern, detail }: BadPattern): BadPolicy => ({
      kind: 'BadPolicy',
      field: secretAllow?.includes(pattern) === true ? 'secretAllow' : 'secretPatterns',
      detail: `the pattern ${JSON.stringify(pattern)} ${detail}`,
    }))(Redactor.create(key, { patterns: secretPatterns, allow: secretAllow }))
    this.bySettings.set(name, created)
    return created
  }
}

const redactorsOf = new WeakMap<Log, Redactors>()

/** The redactor for these settings; undefined if redaction is off. */
export async function redactorFor(
  log: Log,
  settings: RedactionSettings | undefined,
): Promise<E.Either<BadPolicy, Redactor | undefined>> {
  if (settings?.redaction === 'off') return E.right(undefined)
  let redactors = redactorsOf.get(log)
  if (redactors === undefined) {
    redactors = new Redactors(log)
    redactorsOf.set(log, redactors)
  }
  return await redactors.get(settings ?? {})
}

/** The settings in force after a change; undefined keeps the recorded ones. */
export const settingsAfter = (
  state: Pick<Conversation, 'configuration'> | undefined,
  changed: RedactionSettings | undefined,
): RedactionSettings => ({ ...state?.configuration?.settings, ...changed })

const NOTHING: Replacements = new Map()

/** Redacts the commands of one call for a conversation. */
export async function redactCommands(
  log: Log,
  state: Pick<Conversation, 'configuration'>,
  commands: readonly Command[],
): Promise<E.Either<BadPolicy, RedactedCommands>> {
  const configure = commands.find((command) => command.type === 'Configure')
  if (configure?.settings === undefined && !commands.some(({ type }) => HAS_TEXT[type]))
    return E.right({ commands, replacements: NOTHING })
  const redactor = await redactorFor(log, settingsAfter(state, configure?.settings))
  if (E.isLeft(redactor)) return redactor
  if (redactor.right === undefined) return E.right({ commands, replacements: NOTHING })
  const replacements = new Map<string, readonly SecretMark[]>()
  const redacted: Command[] = []
  for (const command of commands) {
    const { value, replacements: found } = HAS_TEXT[command.type]
      ? redactor.right.json(command)
      : { value: command, replacements: NOTHING }
    redacted.push(value)
    for (const [text, marks] of found) replacements.set(text, marks)
  }
  return E.right({ commands: redacted, replacements })
}

/** How many secrets of each kind were replaced in the data of an event; undefined if none. */
export function countReplaced(
  dataText: string,
  replacements: Replacements,
): Readonly<Record<string, number>> | undefined {
  const sum: Record<string, number> = {}
  for (const [replacement, marks] of replacements) {
    // The data is JSON, in which a line break of Base64 text is escaped.
    const places = dataText.split(JSON.stringify(replacement).slice(1, -1)).length - 1
    if (places === 0) continue
    for (const { kind } of marks) sum[kind] = (sum[kind] ?? 0) + places
  }
  const kinds = Object.entries(sum).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return kinds.length === 0 ? undefined : Object.fromEntries(kinds)
}
