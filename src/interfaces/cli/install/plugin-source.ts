/** The common part of the plugins of opencode and pi, in which hooks run inside the program. */
import type { InstalledCommands, InstalledGuard } from './agent-program.js'

/**
 * The beginning of a plugin. It reads and writes the files of `hook-folder.ts` itself, because a process that takes a
 * note for the program can be slower than the program waits, or outlive it, and the note is then lost or late. Nothing of
 * it throws or waits. `takeNote` calls `report` if an earlier process of the program ended before its report was read.
 */
export const pluginSource = ({ hookWords, folder, guard, compactor }: InstalledCommands, agent: string): string => `\
// Written by \`context-ledger install\`; \`context-ledger install --remove\` removes it.
// After a compaction, it gives the agent a note with recorded content that its context lost.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const [program, ...words] = ${JSON.stringify([...hookWords, agent])}
const folder = ${JSON.stringify(folder)}
const notes = join(folder, 'notes')

/** Sessions of which this process has reported an end. */
const reported = new Set()

const keyOf = (id) => createHash('sha256').update(${JSON.stringify(agent)} + '\\0' + id).digest('hex').slice(0, 32)
const fileOf = (id, kind) => join(notes, keyOf(id) + '.' + kind)

/** Replaces a file in one step. Creates its directory, but nothing after a removal of the hooks. */
const replaceFile = (directory, file, text) => {
  if (!existsSync(directory)) mkdirSync(directory, { mode: 0o700 })
  writeFileSync(file + '.' + process.pid, text, { mode: 0o600 })
  renameSync(file + '.' + process.pid, file)
}

/** Reports the end of a compaction: from now on, no note of an earlier one is taken. */
const reportEnd = (id, transcript) => {
  reported.add(id)
  try {
    replaceFile(notes, fileOf(id, 'ended'), transcript)
  } catch {
    // The hooks were removed, or the disk is full.
  }
}

/** Starts the process that makes the note. */
const startMaking = (id, transcript) => {
  try {
    const stdio = ['pipe', 'ignore', 'ignore']
    const child = spawn(program, [...words, 'background'], { stdio, detached: true, windowsHide: true })
    child.on('error', () => {})
    child.stdin.on('error', () => {})
    child.stdin.end(JSON.stringify({ hook_event_name: 'PreCompact', session_id: id, transcript_path: transcript }))
    child.unref()
  } catch {
    // The agent continues without a note.
  }
}

const takeNote = (id, report) => {
  try {
    if (existsSync(fileOf(id, 'ended'))) {
      if (!reported.has(id)) report()
      return
    }
    const taken = fileOf(id, 'note-' + process.pid)
    renameSync(fileOf(id, 'note'), taken)
    const text = readFileSync(taken, 'utf8')
    rmSync(taken)
    try {
      rmdirSync(notes)
    } catch {
      // Other notes wait.
    }
    return text
  } catch {
    // There is no note.
  }
}
${guard === undefined ? '' : guardSource(guard, agent)}${compactor === undefined ? '' : compactorSource(compactor(agent))}`

/**
 * The part of a plugin that asks the guard about a call before it runs. Resolves with nothing if the call may run, or if
 * there is any problem.
 */
const guardSource = ({ words, hasRuleFile }: InstalledGuard, agent: string): string => `
const guardWords = ${JSON.stringify(words(agent))}

/** Whether there are rules to ask about. */
const hasRules = () => existsSync(${hasRuleFile ? 'folder' : "join(folder, 'guard')"})

/** The answer of the guard about a call. */
const askGuard = (id, transcript, cwd, call, isFirstLook = false) =>
  new Promise((resolve) => {
    try {
      const [program, ...words] = guardWords
      const child = spawn(program, words, { stdio: ['pipe', 'pipe', 'ignore'], windowsHide: true, timeout: 10_000 })
      let text = ''
      child.on('error', () => resolve(undefined))
      child.stdin.on('error', () => {})
      child.stdout.on('data', (data) => (text += data))
      child.on('close', () => {
        try {
          resolve(JSON.parse(text))
        } catch {
          resolve(undefined)
        }
      })
      const session = { hook_event_name: 'PreToolUse', session_id: id, transcript_path: transcript, cwd }
      const about = { tool_use_id: call.id, tool_name: call.name, tool_input: call.input }
      child.stdin.end(JSON.stringify({ ...session, ...about, first_look: isFirstLook }))
    } catch {
      resolve(undefined)
    }
  })
`

/** How long a program waits for a summary before it makes its own. */
const SUMMARY_MS = 2_000

/**
 * The part of a plugin that asks for a summary. Resolves with nothing if there is none: the program then compacts by
 * itself. A process that answers late goes on, and records the session.
 */
const compactorSource = (words: readonly string[]): string => `
const compactorWords = ${JSON.stringify(words)}
/** How long the program waits before it makes its own summary. */
const SUMMARY_MS = ${String(SUMMARY_MS)}

/** Asks for a summary of the records that leave the context. */
const askCompactor = (id, transcript, records, { windowTokens, signal, mode = [], limitMs = SUMMARY_MS } = {}) =>
  new Promise((resolve) => {
    try {
      const [program, ...words] = compactorWords
      const stdio = ['pipe', 'pipe', 'ignore']
      const child = spawn(program, [...words, ...mode], { stdio, detached: true, windowsHide: true })
      let text = ''
      const end = () => {
        clearTimeout(timer)
        child.stdout.destroy()
        child.unref()
        try {
          const answer = JSON.parse(text)
          resolve(answer.kind === 'made' ? answer : undefined)
        } catch {
          resolve(undefined)
        }
      }
      const timer = setTimeout(end, limitMs)
      signal?.addEventListener('abort', end, { once: true })
      child.on('error', end)
      child.stdin.on('error', () => {})
      child.stdout.on('error', () => {})
      child.stdout.on('end', end)
      child.stdout.on('data', (data) => {
        text += data
        if (text.endsWith('\\n')) end()
      })
      const session = { session_id: id, transcript_path: transcript, records, window_tokens: windowTokens }
      child.stdin.end(JSON.stringify(session))
    } catch {
      resolve(undefined)
    }
  })
`
