/** opencode 1.x: a plugin file, and MCP servers in `opencode.json` or `opencode.jsonc`. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { isRecord } from '../../../lib/is-record.js'
import { agentFolders, homeFolder } from '../../../lib/user-folders.js'
import { sentenceOf } from '../../../ports/store-error.js'
import { MCP_NAME, type AgentProgram, type LoadedPlugin } from './agent-program.js'
import { pluginSource } from './plugin-source.js'

/**
 * The plugin exports a compacted session into the private directory of hooks, because opencode keeps sessions in a
 * database. The note becomes a part of the next message of the user, or of the next result of a tool.
 */
const BODY = `
/** An id that sorts after the other parts of a message. */
const partId = () =>
  'prt_' +
  ((BigInt(Date.now()) * 4096n + 4095n) & 0xffffffffffffn).toString(16).padStart(12, '0') +
  Math.random().toString(36).slice(2, 12).padEnd(14, '0')

export const ContextLedger = async ({ client, directory }) => {
  const exportSession = async (id, file) => {
    const [info, messages] = await Promise.all([
      client.session.get({ path: { id } }),
      client.session.messages({ path: { id } }),
    ])
    replaceFile(join(folder, 'exports'), file, JSON.stringify({ info: info.data, messages: messages.data }))
    startMaking(id, file)
  }
  const report = (id) => {
    // Without these files, nothing would read the export.
    if (!/^[\\w-]+$/.test(id) || !existsSync(folder) || !existsSync(words[0])) return
    // Each compaction has an export of its own, because the one of an earlier compaction may be in use.
    const file = join(folder, 'exports', id + '.' + Date.now() + '.json')
    reportEnd(id, file)
    // Not awaited, so that opencode goes on.
    exportSession(id, file).catch(() => {})
  }
  const take = (id) => takeNote(id, () => report(id))
  return {
    event: async ({ event }) => {
      if (event.type === 'session.compacted') report(event.properties.sessionID)
      keepReady(client, event)
    },
    'chat.message': async (input, output) => {
      const text = take(input.sessionID)
      if (text === undefined) return
      const { id: messageID, sessionID } = output.message
      output.parts.push({ id: partId(), sessionID, messageID, type: 'text', text, synthetic: true })
    },
    'tool.execute.after': async (input, output) => {
      if (typeof output.output !== 'string') return
      const text = take(input.sessionID)
      if (text !== undefined) output.output += '\\n\\n' + text
    },
    ...summaryHooks(client),
    ...guardCalls(client, directory),
  }
}
`

const WITHOUT_GUARD = `
const guardCalls = () => ({})
`

const WITHOUT_COMPACTOR = `
const summaryHooks = () => ({})
const keepReady = () => {}
`

/**
 * opencode 1 always asks its model for a summary, and then asks plugins about each text of the model. The summary of the
 * ledger is put before the text of the model, which stays: so it is also what other plugins made of it.
 */
const COMPACTOR = `
/** Summaries for compactions that have begun, by session. */
const summaries = new Map()
/** The window of the model of each session, in tokens. */
const windows = new Map()

/** The summary of the ledger for all messages before the compaction that has begun, or for all. */
const askFor = async (client, id, mode) => {
  if (!/^[\\w-]+$/.test(id) || !existsSync(folder)) return
  const start = Date.now()
  const late = new Promise((_resolve, reject) => setTimeout(reject, SUMMARY_MS).unref())
  const path = { path: { id } }
  const [info, { data }] = await Promise.race([
    Promise.all([client.session.get(path), client.session.messages(path)]),
    late,
  ])
  const begun = data.findLastIndex(({ parts }) => parts.some((part) => part.type === 'compaction'))
  const isDone = data.slice(begun + 1).some(({ info }) => info.summary === true)
  const messages = begun >= 0 && !isDone ? data.slice(0, begun) : data
  const file = join(folder, 'exports', id + '.' + Date.now() + '.' + Math.random().toString(36).slice(2) + '.json')
  replaceFile(join(folder, 'exports'), file, JSON.stringify({ info: info.data, messages }))
  const records = messages.map(({ info }) => info.id)
  const limitMs = SUMMARY_MS - (Date.now() - start)
  return await askCompactor(id, file, records, { windowTokens: windows.get(id), limitMs, mode })
}

const isSummary = async (client, id, messageID) => {
  const late = new Promise((resolve) => setTimeout(resolve, SUMMARY_MS, {}).unref())
  const { data } = await Promise.race([client.session.message({ path: { id, messageID } }), late])
  return data?.info.summary === true
}

const summaryHooks = (client) => ({
  'chat.params': async ({ sessionID, model }) => {
    windows.set(sessionID, model?.limit?.context)
  },
  'experimental.session.compacting': async ({ sessionID }) => {
    summaries.delete(sessionID)
    const answer = await askFor(client, sessionID, []).catch(() => {})
    if (answer !== undefined) summaries.set(sessionID, answer.text)
  },
  'experimental.text.complete': async ({ sessionID, messageID }, output) => {
    const summary = summaries.get(sessionID)
    if (summary === undefined || !(await isSummary(client, sessionID, messageID).catch(() => false))) return
    summaries.delete(sessionID)
    output.text = summary + '\\n## Summary by the model\\n' + output.text
  },
})

/** From this share of the window on, the session is recorded while the agent works, so that a summary is made fast. */
const READY_SHARE = 0.5
const READY_MS = 60000
let lastReady = 0

const keepReady = (client, { type, properties }) => {
  if (type === 'session.compacted') lastReady = 0
  if (type !== 'message.updated' || properties.info.role !== 'assistant') return
  const { sessionID, tokens } = properties.info
  const used = (tokens?.input ?? 0) + (tokens?.cache?.read ?? 0)
  if (!(used > windows.get(sessionID) * READY_SHARE) || Date.now() < lastReady + READY_MS) return
  lastReady = Date.now()
  askFor(client, sessionID, ['warm']).catch(() => {})
}
`

/**
 * A plugin of opencode cannot ask the user, so a call that would break a rule ends with an error: the agent has to ask.
 * The session is exported for the guard, which deletes nothing.
 */
const GUARD = `
const guardCalls = (client, directory) => ({
  'tool.execute.before': async ({ tool, sessionID, callID }, { args }) => {
    const call = { id: callID, name: tool, input: args }
    const answer = await judgeCall(client, directory, sessionID, call).catch(() => {})
    if (answer !== undefined) throw new Error(answer.reason)
  },
})

const judgeCall = async (client, directory, id, call) => {
  if (!hasRules() || !/^[\\w-]+$/.test(id)) return
  // The session is exported only for a call that may break a rule.
  if ((await askGuard(id, undefined, directory, call, true)) === undefined) return
  const file = join(folder, 'exports', id + '.' + Date.now() + '.' + Math.random().toString(36).slice(2) + '.json')
  try {
    const late = new Promise((_resolve, reject) => setTimeout(reject, 5000).unref())
    const path = { path: { id } }
    const session = Promise.all([client.session.get(path), client.session.messages(path)])
    const [info, messages] = await Promise.race([session, late])
    replaceFile(join(folder, 'exports'), file, JSON.stringify({ info: info.data, messages: messages.data }))
    return await askGuard(id, file, directory, call)
  } finally {
    rmSync(file, { force: true })
  }
}
`

async function loadPlugin(exports: unknown, sessionId: string): Promise<LoadedPlugin | undefined> {
  const create = isRecord(exports) ? exports['ContextLedger'] : undefined
  if (typeof create !== 'function') return undefined
  const info = { id: 'msg_check', role: 'assistant', summary: true }
  const client = {
    session: {
      get: async () => ({ data: {} }),
      messages: async () => ({ data: [] }),
      message: async () => ({ data: { info } }),
    },
  }
  const hooks: unknown = await create({ client, directory: homeFolder() })
  if (!isRecord(hooks)) return undefined
  const { event, 'chat.message': onMessage, 'tool.execute.before': beforeCall } = hooks
  if (typeof event !== 'function' || typeof onMessage !== 'function') return undefined
  return {
    reportCompaction: async () =>
      await event({ event: { type: 'session.compacted', properties: { sessionID: sessionId } } }),
    async prompt() {
      const parts: { readonly text?: string }[] = []
      await onMessage({ sessionID: sessionId }, { message: { id: 'msg_check', sessionID: sessionId }, parts })
      return parts[0]?.text
    },
    async compact() {
      const begin = hooks['experimental.session.compacting']
      const complete = hooks['experimental.text.complete']
      if (typeof begin !== 'function' || typeof complete !== 'function') return undefined
      const output = { text: '' }
      await begin({ sessionID: sessionId }, { context: [] })
      await complete({ sessionID: sessionId, messageID: info.id, partID: 'prt_check' }, output)
      return output.text
    },
    async run(command) {
      try {
        if (typeof beforeCall === 'function')
          await beforeCall({ tool: 'bash', sessionID: sessionId, callID: 'check' }, { args: { command } })
        return undefined
      } catch (error) {
        return sentenceOf(error)
      }
    },
  }
}

export const opencode: AgentProgram = {
  name: 'opencode',
  loadPlugin,
  compacts: true,
  folder: agentFolders.opencodeSettings,
  additions(folder, commands) {
    const withComments = join(folder, 'opencode.jsonc')
    return [
      {
        kind: 'file',
        file: join(folder, 'plugins', 'context-ledger.js'),
        text: [
          pluginSource(commands, 'opencode'),
          commands.guard === undefined ? WITHOUT_GUARD : GUARD,
          commands.compactor === undefined ? WITHOUT_COMPACTOR : COMPACTOR,
          BODY,
        ].join(''),
      },
      {
        kind: 'json',
        file: existsSync(withComments) ? withComments : join(folder, 'opencode.json'),
        isStrict: false,
        path: ['mcp', MCP_NAME],
        value: { type: 'local', command: commands.mcp, enabled: true },
        isItem: false,
      },
    ]
  },
}
