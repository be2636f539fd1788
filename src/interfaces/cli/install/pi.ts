/** pi from 0.60: an extension file. pi has no settings for MCP servers. */
import { agentFolders, homeFolder } from '../../../lib/user-folders.js'
import { join } from 'node:path'
import { OWN_COMPACTOR } from '../../../domain/values/own-compactor.js'
import { isRecord } from '../../../lib/is-record.js'
import { textIn } from '../../../lib/text-in.js'
import type { AgentProgram, LoadedPlugin } from './agent-program.js'
import { pluginSource } from './plugin-source.js'

const BODY = `
export default function (pi) {
  const sessionOf = ({ sessionManager }) => [sessionManager.getSessionId(), sessionManager.getSessionFile()]
  const report = (context) => {
    reportEnd(...sessionOf(context))
    startMaking(...sessionOf(context))
  }
  const take = (context) => takeNote(sessionOf(context)[0], () => report(context))
  pi.on('session_before_compact', async (event, context) => {
    // The process that makes the note must not slow down the one that makes the summary.
    const result = await summaryFor(pi, event, context)
    startMaking(...sessionOf(context))
    return result
  })
  keepReady(pi)
  pi.on('session_compact', (_event, context) => report(context))
  pi.on('before_agent_start', (_event, context) => {
    const content = take(context)
    return content === undefined ? undefined : { message: { customType: 'context-ledger', content, display: true } }
  })
  pi.on('tool_result', (event, context) => {
    const text = take(context)
    return text === undefined ? undefined : { content: [...event.content, { type: 'text', text }] }
  })
  guardCalls(pi)
}
`

const WITHOUT_GUARD = `
const guardCalls = () => {}
`

const WITHOUT_COMPACTOR = `
const summaryFor = async () => {}
const keepReady = () => {}
`

/**
 * pi takes the result of the last extension that returns one. If an extension that it loads before this one may make a
 * summary, none is made here, because that one would be lost.
 */
const compactorIn = (file: string): string => `
import { readdirSync, statSync } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'

const ownFile = ${JSON.stringify(file)}
const CONTEXT_ENTRIES = new Set(['message', 'custom_message', 'branch_summary'])
const EVENT = 'session_before_compact'

/** The files of an extension: itself, or those of its folder, without its packages. */
const filesOf = (path, depth = 0) => {
  try {
    if (!statSync(path).isDirectory()) return /\\.[cm]?[jt]s$/.test(path) ? [path] : []
    if (depth > 3) return []
    const names = readdirSync(path).filter((name) => name !== 'node_modules')
    return names.flatMap((name) => filesOf(join(path, name), depth + 1))
  } catch {
    return []
  }
}

/** Extensions that pi loads before this one: those of the command line, of the project, of settings, and earlier names. */
const earlierExtensions = (pi, context) => {
  const agentFolder = dirname(dirname(ownFile))
  const named = process.argv.flatMap((word, at, all) => (['-e', '--extension'].includes(all[at - 1]) ? [word] : []))
  const projectFolder = join(context.cwd, '.pi')
  const isTrusted = context.isProjectTrusted?.() !== false
  const settings = (pi.getSettings?.()?.extensions ?? []).filter((each) => typeof each === 'string')
  const siblings = readdirSync(dirname(ownFile)).filter((name) => name < basename(ownFile))
  return [
    ...named.map((path) => resolve(context.cwd, path)),
    ...(isTrusted ? [join(projectFolder, 'extensions')] : []),
    ...settings.flatMap((path) => [resolve(agentFolder, path), ...(isTrusted ? [resolve(projectFolder, path)] : [])]),
    ...siblings.map((name) => join(dirname(ownFile), name)),
  ]
}

const mayOtherCompact = (pi, context) =>
  earlierExtensions(pi, context).some((path) => filesOf(path).some((file) => readFileSync(file, 'utf8').includes(EVENT)))

const recordsBefore = (entries, id) => {
  const at = entries.findIndex((entry) => entry.id === id)
  return entries.slice(0, Math.max(at, 0)).flatMap((entry) => (CONTEXT_ENTRIES.has(entry.type) ? [entry.id] : []))
}

/** The summary of the ledger. Nothing if pi has to make its own: also if the user asked for something in particular. */
const summaryFor = async (pi, { preparation, branchEntries, customInstructions, reason, signal }, context) => {
  try {
    const { sessionManager, model } = context
    const [id, file] = [sessionManager.getSessionId(), sessionManager.getSessionFile()]
    if (file === undefined || customInstructions || mayOtherCompact(pi, context)) return
    const { firstKeptEntryId, tokensBefore } = preparation
    const records = recordsBefore(branchEntries, firstKeptEntryId)
    if (records.length === 0) return
    const start = Date.now()
    const answer = await askCompactor(id, file, records, { windowTokens: model?.contextWindow, signal })
    if (answer === undefined || signal?.aborted) return
    const { text: summary, revision, tokens, replacedTokens } = answer
    const details = { madeBy: ${JSON.stringify(OWN_COMPACTOR)}, reason, revision, tokens, replacedTokens, durationMs: Date.now() - start }
    return { compaction: { summary, firstKeptEntryId, tokensBefore, details } }
  } catch {
    // pi makes its own summary.
  }
}

/** From this share of the window on, the session is recorded while the agent works, so that a summary is made fast. */
const READY_SHARE = 0.5
const READY_MS = 60000

const keepReady = (pi) => {
  let last = 0
  const begin = (_event, context) => {
    try {
      const { tokens, contextWindow } = context.getContextUsage() ?? {}
      if (!(tokens > contextWindow * READY_SHARE) || Date.now() < last + READY_MS) return
      last = Date.now()
      const { sessionManager } = context
      const [id, file] = [sessionManager.getSessionId(), sessionManager.getSessionFile()]
      const records = sessionManager.getBranch().map((entry) => entry.id)
      if (file !== undefined) askCompactor(id, file, records, { windowTokens: contextWindow, mode: ['warm'] })
    } catch {
      // A summary takes longer then.
    }
  }
  pi.on('before_agent_start', begin)
  pi.on('turn_end', begin)
  // The process that makes the note ends the resident reader.
  pi.on('session_compact', () => {
    last = 0
  })
}
`

/** pi asks the user if it can; otherwise the call does not run, and its result has the reason. */
const GUARD = `
const guardCalls = (pi) => {
  pi.on('tool_call', async ({ toolCallId, toolName, input }, { sessionManager, cwd, hasUI, ui }) => {
    try {
      if (!hasRules()) return
      const [id, file] = [sessionManager.getSessionId(), sessionManager.getSessionFile()]
      const answer = await askGuard(id, file, cwd, { id: toolCallId, name: toolName, input })
      if (answer === undefined) return
      if (answer.action === 'ask' && hasUI && (await ui.confirm('A rule of yours', answer.question))) return
      return { block: true, reason: answer.reason }
    } catch {
      // The call goes on.
    }
  })
}
`

async function loadPlugin(exports: unknown, sessionId: string): Promise<LoadedPlugin | undefined> {
  const extension = isRecord(exports) ? exports['default'] : undefined
  if (typeof extension !== 'function') return undefined
  const handlers = new Map<unknown, unknown>()
  await extension({ on: (event: unknown, handler: unknown) => handlers.set(event, handler) })
  const [compacted, started] = [handlers.get('session_compact'), handlers.get('before_agent_start')]
  if (typeof compacted !== 'function' || typeof started !== 'function') return undefined
  const beforeCall = handlers.get('tool_call')
  const beforeCompaction = handlers.get('session_before_compact')
  const sessionManager = { getSessionId: () => sessionId, getSessionFile: () => `${sessionId}.jsonl` }
  return {
    reportCompaction: () => compacted({}, { sessionManager }),
    async prompt() {
      const answer: unknown = await started({}, { sessionManager })
      const message = isRecord(answer) ? answer['message'] : undefined
      return isRecord(message) ? textIn(message['content']) : undefined
    },
    async compact() {
      if (typeof beforeCompaction !== 'function') return undefined
      const preparation = { firstKeptEntryId: 'kept', tokensBefore: 1 }
      const branchEntries = [
        { type: 'message', id: 'check' },
        { type: 'message', id: 'kept' },
      ]
      const context = { sessionManager, cwd: homeFolder(), model: undefined }
      const answer: unknown = await beforeCompaction({ preparation, branchEntries, reason: 'manual' }, context)
      const compaction = isRecord(answer) ? answer['compaction'] : undefined
      return isRecord(compaction) ? textIn(compaction['summary']) : undefined
    },
    async run(command) {
      if (typeof beforeCall !== 'function') return undefined
      const call = { toolCallId: 'check', toolName: 'bash', input: { command } }
      const answer: unknown = await beforeCall(call, { sessionManager, cwd: homeFolder(), hasUI: false })
      return isRecord(answer) ? textIn(answer['reason']) : undefined
    },
  }
}

export const pi: AgentProgram = {
  name: 'pi',
  loadPlugin,
  compacts: true,
  folder: agentFolders.pi,
  additions(folder, commands) {
    const file = join(folder, 'extensions', 'context-ledger.ts')
    const text = [
      pluginSource(commands, 'pi'),
      commands.guard === undefined ? WITHOUT_GUARD : GUARD,
      commands.compactor === undefined ? WITHOUT_COMPACTOR : compactorIn(file),
      BODY,
    ].join('')
    return [{ kind: 'file', file, text }]
  },
}
