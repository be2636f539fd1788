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
    ...guardCalls(client, directory),
  }
}
`

const WITHOUT_GUARD = `
const guardCalls = () => ({})
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
  const client = { session: { get: async () => ({ data: {} }), messages: async () => ({ data: [] }) } }
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
  folder: agentFolders.opencodeSettings,
  additions(folder, commands) {
    const withComments = join(folder, 'opencode.jsonc')
    return [
      {
        kind: 'file',
        file: join(folder, 'plugins', 'context-ledger.js'),
        text: `${pluginSource(commands, 'opencode')}${commands.guard === undefined ? WITHOUT_GUARD : GUARD}${BODY}`,
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
