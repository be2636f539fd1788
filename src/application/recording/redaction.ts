/**
 * Redaction of commands: the one place through which every text goes before it is decided on, hashed and stored. The
 * events of a command follow from the redacted one, so that ids, hashes and token counts are those of the redacted text.
 */
import { either as E } from 'fp-ts'
import { randomBytes } from 'node:crypto'
import type { Conversation } from '../../domain/conversation/conversation.js'
import type { Command, MessageToAppend } from '../../domain/decide/index.js'
import type { Provenance } from '../../domain/events/codec.js'
import type { BadId } from '../../domain/values/ids.js'
import type { BadPolicy } from '../../domain/values/policy.js'
import type { PolicySettings } from '../../domain/values/policy-settings.js'
import type { BadPattern } from '../../lib/bounded-pattern.js'
import { isPauseDue, pause } from '../../lib/pauses.js'
import { Redactor, type Redacted, type Replacements, type SecretMark } from '../secrets/redact.js'
import type { Log } from './load-conversation.js'

/** The part of the settings that redaction depends on. */
export type RedactionSettings = Pick<PolicySettings, 'redaction' | 'secretPatterns' | 'secretAllow'>

/** Redacted commands with their provenance, and the replacements of their secrets. */
export interface RedactedCommands {
  readonly commands: readonly Command[]
  readonly provenance: Provenance
  readonly replacements: Replacements
}

/** The fields of an erasure that its caller fills in freely. */
const ERASURE_TEXTS = ['reason', 'legalBasis'] as const
/** Fields with ids of messages. A message that was recorded before redaction keeps its id. */
const MESSAGE_IDS: ReadonlySet<string> = new Set(['messageId', 'messageIds'])

/**
 * True if all strings of the command are redacted, except the ids of recorded messages. Set it for each command with a
 * field that a caller or a model fills in freely. A list names the only such fields of a command, at any depth.
 */
const HAS_TEXT: Readonly<Record<Command['type'], boolean | readonly string[]>> = {
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
  JudgeRule: false,
  AddRule: true,
  RecordRuleReview: false,
  ExpectNoErasure: false,
  RequestErasure: ERASURE_TEXTS,
  CompleteErasure: ERASURE_TEXTS,
}

/** The redactors of a log, by their settings. */
class Redactors {
  private readonly bySettings = new Map<string, E.Either<BadPolicy, Redactor>>()
  /** The key of a log without one, which belongs to this process. */
  private readonly ownKey = randomBytes(32)

  constructor(private readonly log: Log) {}

  async get(settings: RedactionSettings): Promise<E.Either<BadPolicy, Redactor>> {
    const name = JSON.stringify([settings.secretPatterns, settings.secretAllow])
    const known = this.bySettings.get(name)
    if (known !== undefined) return known
    const created = createRedactor((await this.log.secretsKey?.()) ?? this.ownKey, settings)
    this.bySettings.set(name, created)
    return created
  }
}

/** @param key the key for fingerprints; undefined outside of a ledger */
const createRedactor = (
  key: Uint8Array | undefined,
  { secretPatterns, secretAllow }: RedactionSettings,
): E.Either<BadPolicy, Redactor> =>
  E.mapLeft(({ pattern, detail }: BadPattern): BadPolicy => ({
    kind: 'BadPolicy',
    field: secretAllow?.includes(pattern) === true ? 'secretAllow' : 'secretPatterns',
    detail: `the pattern ${JSON.stringify(pattern)} ${detail}`,
  }))(Redactor.create(key, { patterns: secretPatterns, allow: secretAllow }))

/** The redactor of what leaves this machine for another one's ledger; undefined if redaction is off. */
export const redactorWithoutLedger = (settings: RedactionSettings = {}): E.Either<BadPolicy, Redactor | undefined> =>
  settings.redaction === 'off' ? E.right(undefined) : createRedactor(undefined, settings)

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

/**
 * A secret in a name by which a conversation is found, or in a pattern. These are recorded as they are, so they are
 * refused.
 */
function secretInNames(
  redactor: Redactor,
  { configuration, conversationId }: RedactedState,
  configure: ConfigureCommand | undefined,
): BadId | undefined {
  const { scope, settings } = configure ?? {}
  const names: readonly (readonly [string, string | undefined])[] = [
    ['conversationId', configuration === undefined ? conversationId : undefined],
    ['scope', scope],
    ...[...Object.values(settings?.secretPatterns ?? {}), ...(settings?.secretAllow ?? [])].map(
      (pattern) => ['policy', pattern] as const,
    ),
  ]
  for (const [field, name] of names) {
    const [found] = name === undefined ? [] : [...redactor.text(name).replacements.values()].flat()
    if (found !== undefined)
      return {
        kind: 'BadId',
        field,
        detail: `contains a secret (${found.kind}), and would be recorded unchanged: remove the secret`,
      }
  }
  return undefined
}

type RedactedState = Pick<Conversation, 'configuration' | 'conversationId' | 'leading' | 'retained' | 'window'>
type ConfigureCommand = Extract<Command, { readonly type: 'Configure' }>

/** The recorded id of a message that a caller names: redacted, unless it was recorded before redaction. */
export const recordedId = (redactor: Redactor | undefined, isRecorded: (id: string) => boolean, id: string): string =>
  redactor === undefined || isRecorded(id) ? id : redactor.text(id).value

/** Redacts a command. One that refers to messages gets their recorded ids. Other work may run between two messages. */
async function redactCommand(redactor: Redactor, state: RedactedState, command: Command): Promise<Redacted<Command>> {
  if (command.type === 'AppendMessages') {
    const replacements = new Map<string, readonly SecretMark[]>()
    const messages: MessageToAppend[] = []
    for (const message of command.messages) {
      if (isPauseDue()) await pause()
      const redacted = redactor.json(message)
      messages.push(redacted.value)
      for (const [text, marks] of redacted.replacements) replacements.set(text, marks)
    }
    return { value: { ...command, messages }, replacements }
  }
  const live = [state.leading, state.retained, state.window]
  const isLive = (id: string): boolean => live.some((messages) => messages.some(({ messageId }) => messageId === id))
  const texts = HAS_TEXT[command.type]
  if (typeof texts !== 'boolean')
    return redactor.json(command, (field) => field === undefined || !texts.includes(field))
  if (texts)
    return redactor.json(command, (field, text) => field !== undefined && MESSAGE_IDS.has(field) && isLive(text))
  const value = ((): Command => {
    if (command.type === 'WithdrawMessages')
      return { ...command, messageIds: command.messageIds.map((id) => recordedId(redactor, isLive, id)) }
    if (command.type === 'PinMessage' || command.type === 'UnpinMessage')
      return { ...command, messageId: recordedId(redactor, isLive, command.messageId) }
    return command
  })()
  return { value, replacements: NOTHING }
}

/** The reason of an erasure and its legal basis, without secrets, by the rules that hold in every conversation. */
export async function redactErasureTexts<Request extends object>(log: Log, request: Request): Promise<Request> {
  const redactor = await redactorFor(log, undefined)
  if (E.isLeft(redactor) || redactor.right === undefined) return request
  const texts: readonly string[] = ERASURE_TEXTS
  return redactor.right.json(request, (field) => field === undefined || !texts.includes(field)).value
}

/** Redacts the commands of one call for a conversation, and their provenance. */
export async function redactCommands(
  log: Log,
  state: RedactedState,
  commands: readonly Command[],
  provenance: Provenance,
): Promise<E.Either<BadPolicy | BadId, RedactedCommands>> {
  const configure = commands.find((command) => command.type === 'Configure')
  const unchanged: RedactedCommands = { commands, provenance, replacements: NOTHING }
  const redactor = await redactorFor(log, settingsAfter(state, configure?.settings))
  if (E.isLeft(redactor)) return redactor
  if (redactor.right === undefined) return E.right(unchanged)
  const refused = secretInNames(redactor.right, state, configure)
  if (refused !== undefined) return E.left(refused)
  const replacements = new Map<string, readonly SecretMark[]>()
  const redacted: Command[] = []
  for (const command of commands) {
    const { value, replacements: found } = await redactCommand(redactor.right, state, command)
    redacted.push(value)
    for (const [text, marks] of found) replacements.set(text, marks)
  }
  return E.right({ commands: redacted, provenance: redactor.right.json(provenance).value, replacements })
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
