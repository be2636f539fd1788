/**
 * Messages that were erased and come again, for example with an import of the same transcript: they are recorded
 * without their texts. They are recognized by a keyed fingerprint of their content and their time.
 */
import type { Command, MessageToAppend } from '../../domain/decide/index.js'
import { withoutTexts } from '../../domain/events/texts.js'
import { messageHash } from '../../domain/values/message.js'
import type { TextKeys } from '../sealing/text-keys.js'

/** Keyed fingerprint of a message; undefined without a time, since the same words are said again by others. */
export const fingerprintOf = (
  keys: TextKeys,
  message: Parameters<typeof messageHash>[0] & Pick<MessageToAppend, 'createdAt'>,
): string | undefined =>
  message.createdAt === undefined ? undefined : keys.fingerprint('message', messageHash(message), message.createdAt)

/**
 * Keyed fingerprint of a message in its conversation, without a time: the list of a host has none. Only the order of
 * the list shows which message it is.
 */
export const listFingerprintOf = (
  keys: TextKeys,
  conversationId: string,
  message: Parameters<typeof messageHash>[0],
): string => keys.fingerprint('listed message', conversationId, messageHash(message))

/** The commands, in which messages that were erased have no texts. */
export async function withoutErased(
  keys: TextKeys | undefined,
  commands: readonly Command[],
): Promise<readonly Command[]> {
  if (keys === undefined || !(await keys.mayHaveFingerprints())) return commands
  const fingerprints = commands.flatMap((command) =>
    command.type === 'AppendMessages' ? command.messages.flatMap((message) => fingerprintOf(keys, message) ?? []) : [],
  )
  const erased = fingerprints.length === 0 ? new Set<string>() : await keys.findFingerprints(fingerprints)
  if (erased.size === 0) return commands
  return commands.map((command) =>
    command.type === 'AppendMessages'
      ? {
          ...command,
          messages: command.messages.map((message) =>
            erased.has(fingerprintOf(keys, message) ?? '') ? withoutTexts(message) : message,
          ),
        }
      : command,
  )
}
