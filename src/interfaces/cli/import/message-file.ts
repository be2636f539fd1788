/**
 * Imports or counts one file of messages in our own format. Each message is appended and its compaction awaited before
 * the next one, as in a live conversation, so a file always produces the same log. Recorded messages are recognized, so
 * a repeated import continues where an interrupted one stopped.
 */
import { LedgerError } from '../../../lib/ledger-error.js'
import { either as E } from 'fp-ts'
import { derivedMessageId } from '../../../domain/values/ids.js'
import { messageHash } from '../../../domain/values/message.js'
import { parseMessage } from '../../../domain/values/parse-message.js'
import { defaultEstimator, messageTokens } from '../../../domain/values/tokens.js'
import { importers } from '../../../application/importers/index.js'
import { headOf } from '../../../application/importers/records-of.js'
import { refusalOfForm, unreadFormOf } from '../../../application/importers/unread-forms.js'
import type { Ledger, MessageInput } from '../../../library/ledger.js'
import { readConversationFile, type Item } from './conversation-file.js'
import type { ConversationNames } from './conversation-names.js'
import { countRecorded, nothingImported, revisionBefore, type ImportedFile } from './imported-file.js'
import { MessageImporter } from './message-importer.js'

export interface MessageFileOptions {
  readonly conversation?: string | undefined
  readonly scope?: string | undefined
  /** The conversation ids of files without a header. */
  readonly names: ConversationNames
}

/** The items of a file, until the signal is aborted. */
async function* untilAborted(items: AsyncIterable<Item>, signal: AbortSignal): AsyncIterable<Item> {
  try {
    for await (const item of items) {
      signal.throwIfAborted()
      yield item
    }
  } catch (error) {
    // Destroying standard input ends the iteration with an error of its own.
    throw signal.aborted && error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE'
      ? signal.reason
      : error
  }
  signal.throwIfAborted()
}

/**
 * A message of a file. A message without an id gets one from its conversation and index, so that a repeated import has
 * the same messages.
 */
function withId(value: unknown, conversationId: string, index: number): MessageInput {
  const isWithoutId =
    typeof value === 'object' && value !== null && (!('id' in value) || value.id === undefined || value.id === null)
  // The ledger validates the value; only the id is added here.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return (isWithoutId ? { ...value, id: derivedMessageId(conversationId, index) } : value) as MessageInput
}

/**
 * Checks all messages of a file before anything of it is recorded.
 * @throws LedgerError for the first message that cannot be recorded
 */
async function checkConversationFile(file: string, signal: AbortSignal): Promise<void> {
  const hashes = new Map<string, string>()
  let index = 0
  for await (const item of untilAborted(readConversationFile(file), signal)) {
    if (item.kind === 'no-conversation') return
    if (item.kind === 'header') continue
    // Any conversation does: only the ids of this file are compared.
    checkMessage(withId(item.value, file, index), item.where, hashes)
    index += 1
  }
}

/** @param hashes the hashes of the messages before it, by id */
function checkMessage(message: MessageInput, where: string, hashes: Map<string, string>): void {
  const parsed = parseMessage(message)
  if (E.isLeft(parsed)) {
    const { kind, field, detail } = parsed.left
    throw new LedgerError(kind, `${where}: ${field} ${detail}; ${NOTHING}`)
  }
  const { messageId = '' } = parsed.right
  const hash = messageHash(parsed.right)
  if ((hashes.get(messageId) ?? hash) !== hash)
    throw new LedgerError('MalformedInput', `${where}: has the id "${messageId}" of another message; ${NOTHING}`)
  hashes.set(messageId, hash)
}

const NOTHING = 'nothing from this file was recorded'

/** Imports one file; undefined if it has records of another kind. Of standard input, messages before an error stay recorded. */
export async function importMessageFile(
  ledger: Ledger,
  file: string,
  options: MessageFileOptions,
  tick: (bytes: number) => void,
  signal: AbortSignal,
): Promise<ImportedFile | undefined> {
  let importer: MessageImporter | undefined
  let before = -1
  let index = 0
  let id = options.conversation
  const createImporter = async (): Promise<MessageImporter> => {
    if (id === undefined && file === '-')
      throw new LedgerError('Usage', 'standard input has no header with the conversation id: pass --conversation')
    const { id: conversationId, source } = id === undefined ? await options.names.find(file) : { id, source: undefined }
    before = await revisionBefore(ledger, conversationId)
    const { scope } = options
    return new MessageImporter(ledger, nothingImported(file, conversationId, before), {
      ...(scope === undefined ? {} : { scope }),
      ...(source === undefined ? {} : { correlationId: source }),
    })
  }
  if (file !== '-') await checkConversationFile(file, signal)
  for await (const item of untilAborted(readConversationFile(file), signal)) {
    if (item.kind === 'no-conversation') return undefined
    if (item.kind === 'header') {
      id ??= item.id
      continue
    }
    importer ??= await createImporter()
    await importer.add({ message: withId(item.value, importer.imported.conversationId, index), where: item.where })
    index += 1
    tick(item.bytes)
  }
  if (importer === undefined)
    throw new LedgerError('MalformedInput', `${file === '-' ? 'standard input' : file} contains no message`)
  await importer.flush()
  await countRecorded(ledger, importer.imported, before)
  return importer.imported
}

/** Tokens of a message; 0 if the import would reject it. */
function tokensOf(value: unknown): number {
  const parsed = parseMessage(value)
  return E.isLeft(parsed) ? 0 : messageTokens(parsed.right, defaultEstimator)
}

/** Counts the messages of a file; undefined if it has records of another kind. */
export async function countMessageFile(
  file: string,
  options: MessageFileOptions,
  tick: (bytes: number) => void,
  signal: AbortSignal,
): Promise<ImportedFile | undefined> {
  let id = options.conversation
  let messages = 0
  let tokens = 0
  for await (const item of untilAborted(readConversationFile(file), signal)) {
    if (item.kind === 'no-conversation') return undefined
    if (item.kind === 'header') id ??= item.id
    else {
      messages += 1
      tokens += tokensOf(item.value)
      tick(item.bytes)
    }
  }
  return {
    ...nothingImported(file, id ?? (file === '-' ? '-' : (await options.names.find(file)).id), -1),
    recorded: messages,
    messageTokens: tokens,
  }
}

/** @throws LedgerError for a file of a known program whose format has no importer */
export async function rejectUnsupportedFormat(path: string): Promise<void> {
  const form = path === '-' ? undefined : unreadFormOf(await headOf(path))
  if (form === undefined) return
  const programs = importers.map(({ program }) => program)
  throw new LedgerError('MalformedInput', refusalOfForm(path, form, programs))
}
