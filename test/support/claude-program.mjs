#!/usr/bin/env node
/**
 * Replaces the Claude Code program under the real SDK. It uses the stdio protocol observed from Claude Code 2.1.330,
 * and writes its transcript to the same path. The first run writes the first lines of the example's transcript and the
 * lines of a sub-agent. A resumed run finds those where the SDK put them, and writes the rest.
 */
import { appendFileSync, mkdirSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'

const sample = readFileSync(new URL('../../examples/claude-code-session.jsonl', import.meta.url), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line))
const sessionId = sample[0].sessionId
const resumes = process.argv.some((word) => word === `--resume=${sessionId}`)
const folder = process.env.CLAUDE_CONFIG_DIR ?? join(homedir(), '.claude')
const project = join(folder, 'projects', process.cwd().replaceAll(/[^A-Za-z0-9]/gu, '-'))
const main = join(project, `${sessionId}.jsonl`)
const agent = join(project, sessionId, 'subagents', 'agent-harbour1.jsonl')

const say = (message) => process.stdout.write(`${JSON.stringify(message)}\n`)
const withSession = (message) => ({ session_id: sessionId, uuid: crypto.randomUUID(), ...message })

/** Writes lines to the transcript, and mirrors them. */
function write(filePath, entries) {
  mkdirSync(dirname(filePath), { recursive: true })
  for (const entry of entries) appendFileSync(filePath, `${JSON.stringify(entry)}\n`)
  if (process.argv.includes('--session-mirror')) say({ type: 'transcript_mirror', filePath, entries })
}

const linesIn = (path) => readFileSync(path, 'utf8').trimEnd().split('\n').length

function turn() {
  say(
    withSession({
      type: 'system',
      subtype: 'init',
      cwd: process.cwd(),
      tools: [],
      mcp_servers: [],
      model: 'claude-stub-1',
    }),
  )
  // The SDK has put a resumed session here, with its sub-agents in the same directory.
  const found = resumes ? `${linesIn(main)} and ${linesIn(agent)} lines` : 'nothing'
  const rest = resumes ? sample.slice(linesIn(main)) : sample.slice(0, 20)
  for (let at = 0; at < rest.length; at += 3) {
    const entries = rest.slice(at, at + 3)
    for (const { type, message, uuid } of entries)
      if (type === 'user' || type === 'assistant') say(withSession({ type, message, uuid, parent_tool_use_id: null }))
    write(main, entries)
  }
  if (!resumes)
    write(agent, [
      {
        ...sample[0],
        uuid: 'a0000001-0000-4000-8000-000000000001',
        agentId: 'harbour1',
        isSidechain: true,
        message: { role: 'user', content: 'Count the berths.' },
      },
      {
        ...sample[1],
        uuid: 'a0000001-0000-4000-8000-000000000002',
        parentUuid: 'a0000001-0000-4000-8000-000000000001',
        agentId: 'harbour1',
        isSidechain: true,
      },
    ])
  say(
    withSession({
      type: 'result',
      subtype: 'success',
      is_error: false,
      duration_ms: 1,
      duration_api_ms: 1,
      num_turns: 1,
      result: `found ${found}`,
      stop_reason: 'end_turn',
      total_cost_usd: 0,
      usage: { input_tokens: 1, output_tokens: 1 },
      modelUsage: {},
      permission_denials: [],
    }),
  )
}

for await (const line of createInterface({ input: process.stdin })) {
  const { type, request_id: id, request } = JSON.parse(line)
  if (type === 'control_request')
    say({
      type: 'control_response',
      response: {
        subtype: 'success',
        request_id: id,
        response: request.subtype === 'initialize' ? { commands: [], agents: [], models: [], account: {} } : {},
      },
    })
  else if (type === 'user') turn()
}
