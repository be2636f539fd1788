/**
 * An agent of the Agent Client Protocol, made with the protocol's package. It answers each prompt with its text, a tool call
 * that it asks for, and an end; the prompt `compact` makes it compact, `think` takes it longer, and `die` kills it in the middle of an answer. The
 * bytes that it receives and sends are written to the two files that it is given.
 */
import { agent, methods, ndJsonStream, PROTOCOL_VERSION, type SessionUpdate } from '@agentclientprotocol/sdk'
import { appendFileSync } from 'node:fs'
import { Readable, Writable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'

/** How long the agent thinks when it is asked to. */
const THINK_MS = 200

const [received = '', sent = ''] = process.argv.slice(2)
const input = Readable.toWeb(process.stdin).pipeThrough(
  new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      appendFileSync(received, chunk)
      controller.enqueue(chunk)
    },
  }),
)
const standardOutput = Writable.toWeb(process.stdout).getWriter()
const output = new WritableStream<Uint8Array>({
  async write(chunk) {
    appendFileSync(sent, chunk)
    await standardOutput.write(chunk)
  },
})

let sessions = 0
let turns = 0
agent({ name: 'quay' })
  .onRequest(methods.agent.initialize, () => ({
    protocolVersion: PROTOCOL_VERSION,
    agentInfo: { name: 'quay', version: '1.0' },
    agentCapabilities: { loadSession: false },
  }))
  .onRequest(methods.agent.session.new, () => {
    sessions += 1
    return { sessionId: `s${String(sessions)}-${String(process.pid)}` }
  })
  .onRequest(methods.agent.session.prompt, async ({ params: { sessionId, prompt }, client }) => {
    turns += 1
    const text = prompt.map((block) => (block.type === 'text' ? block.text : '')).join('')
    const update = async (fields: SessionUpdate): Promise<void> => {
      await client.notify(methods.client.session.update, { sessionId, update: fields })
    }
    if (text === 'die') process.kill(process.pid, 'SIGKILL')
    if (text.endsWith('think')) await delay(THINK_MS)
    if (text === 'compact') {
      await update({ sessionUpdate: 'compaction_update', compactionId: `k${String(turns)}`, status: 'in_progress' })
      await update({
        sessionUpdate: 'compaction_update',
        compactionId: `k${String(turns)}`,
        status: 'completed',
        summary: [{ type: 'text', text: 'Nothing of note.' }],
      })
      return { stopReason: 'end_turn' }
    }
    const toolCallId = `call-${String(turns)}`
    for (const piece of ['You said: ', text])
      await update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: piece } })
    await update({
      sessionUpdate: 'tool_call',
      toolCallId,
      title: 'look',
      kind: 'read',
      status: 'pending',
      rawInput: {},
    })
    await client.request(methods.client.session.requestPermission, {
      sessionId,
      toolCall: { toolCallId, rawInput: { path: 'quay.txt' } },
      options: [{ optionId: 'yes', name: 'Allow', kind: 'allow_once' }],
    })
    await update({
      sessionUpdate: 'tool_call_update',
      toolCallId,
      status: 'completed',
      rawOutput: `result ${String(turns)}`,
    })
    return { stopReason: 'end_turn' }
  })
  .connect(ndJsonStream(output, input))
