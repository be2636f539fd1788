/**
 * The shell commands of hooks. Programs start them with /bin/sh, bash or the user's own shell, so each is plain POSIX;
 * on Windows with cmd.exe or PowerShell, so it is the words only.
 */
import { commandWords, hasPosixShell, here, posixWord } from '../../../lib/platform.js'
import { guardFolder } from '../hook/guard-folder.js'
import { notesFolder } from '../hook/hook-folder.js'
import type { HookMode } from './agent-program.js'

/** The words that start a hook's process: Node.js, its file, and the private directory of hooks. */
export type HookWords = readonly [node: string, file: string, folder: string]

/**
 * The command of the guard. Without a rule file, Node.js starts only while a conversation has rules for it.
 * @param words Node.js, the file of the guard, and its arguments
 */
export function guardCommand(words: readonly string[], folder: string, hasRuleFile: boolean, platform = here): string {
  if (!hasPosixShell(platform)) return commandWords(words, platform)
  const answered = `${commandWords(words, platform)} 2>/dev/null || true`
  return hasRuleFile ? answered : `if [ -d ${posixWord(guardFolder(folder))} ]; then ${answered}; fi`
}

/**
 * The command of a hook. It always ends with status 0 and prints only the note, also if Node.js or the hook's
 * file does not exist any more.
 */
export function hookCommand([node, file, folder]: HookWords, agent: string, mode: HookMode, platform = here): string {
  const words = [node, file, folder, agent, ...(mode === 'background' ? [mode] : [])]
  if (!hasPosixShell(platform)) return commandWords(words, platform)
  const command = commandWords(words, platform)
  // POSIX gives a background command no standard input, even with `<&0`. Descriptor 3 is opened before it starts.
  if (mode === 'background') return `{ ${command} <&3 3<&- >/dev/null 2>&1 & } 3<&0`
  const answered = `${command} 2>/dev/null || true`
  return mode === 'guarded' ? `if [ -d ${posixWord(notesFolder(folder))} ]; then ${answered}; fi` : answered
}
