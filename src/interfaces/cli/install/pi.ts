/** pi from 0.60: an extension file. pi has no settings for MCP servers. */
import { agentFolders, homeFolder } from '../../../lib/user-folders.js'
import { join } from 'node:path'
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
  pi.on('session_before_compact', (_event, context) => startMaking(...sessionOf(context)))
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
  const sessionManager = { getSessionId: () => sessionId, getSessionFile: () => `${sessionId}.jsonl` }
  return {
    reportCompaction: () => compacted({}, { sessionManager }),
    async prompt() {
      const answer: unknown = await started({}, { sessionManager })
      const message = isRecord(answer) ? answer['message'] : undefined
      return isRecord(message) ? textIn(message['content']) : undefined
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
  folder: agentFolders.pi,
  additions: (folder, commands) => [
    {
      kind: 'file',
      file: join(folder, 'extensions', 'context-ledger.ts'),
      text: `${pluginSource(commands, 'pi')}${commands.guard === undefined ? WITHOUT_GUARD : GUARD}${BODY}`,
    },
  ],
}
