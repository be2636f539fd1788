/** The common part of the plugins of opencode and pi. They run the same hook process as the other programs. */
import type { InstalledCommands } from './agent-program.js'

/**
 * The beginning of a plugin. `hook` runs the hook process, perhaps in the mode `background`, and returns the note, or
 * undefined; it never throws, and ends in time. `isWaiting` is true while a note is being made or waits.
 */
export const pluginSource = ({ hookWords, folder }: InstalledCommands, agent: string): string => `\
// Written by \`context-ledger install\`; \`context-ledger install --remove\` removes it.
// After a compaction, it gives the agent a note with recorded content that its context lost.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'

const [program, ...words] = ${JSON.stringify([...hookWords, agent])}
const folder = ${JSON.stringify(folder)}
const MOST_MS = 280

/** Notes of hooks that took too long, by session. */
const late = new Map()

const isWaiting = () => late.size > 0 || existsSync(join(folder, 'notes'))

const hook = (input, ...mode) =>
  new Promise((resolve) => {
    const id = input.session_id
    if (late.has(id) && mode.length === 0) {
      resolve(late.get(id))
      late.delete(id)
      return
    }
    let output = ''
    let isOver = false
    const end = () => {
      let note
      try {
        note = JSON.parse(output).hookSpecificOutput.additionalContext
      } catch {
        // There is no note.
      }
      if (isOver && note !== undefined) late.set(id, note)
      isOver = true
      resolve(note)
    }
    try {
      const child = spawn(program, [...words, ...mode], { stdio: ['pipe', 'pipe', 'ignore'], windowsHide: true })
      const timer = setTimeout(end, MOST_MS)
      child.on('error', end)
      child.on('close', () => {
        clearTimeout(timer)
        end()
      })
      child.stdout.on('data', (data) => {
        output += data
      })
      child.stdin.on('error', () => {})
      child.stdin.end(JSON.stringify(input))
    } catch {
      end()
    }
  })
`
