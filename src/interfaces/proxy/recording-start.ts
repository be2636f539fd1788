/** When a request is recorded that no answer waits for. */

/** A request without an answer for this long is recorded. */
const RECORD_AFTER_MS = 20
/**
 * Reading and recording a request blocks the event loop for about 50 ms for each MiB. A longer request is recorded after
 * its answer was sent.
 */
const LARGE_REQUEST_BYTES = 1024 * 1024
/** A large request without a complete answer for this long is recorded. */
const RECORD_LARGE_AFTER_MS = 30_000

/**
 * Starts the recording of a request while the model generates its answer. If the answer begins earlier, its first bytes
 * are sent before. A large request waits for the end of its answer.
 */
export class RecordingStart {
  /** Whether the request is recorded after its answer. */
  readonly isLarge: boolean
  /** Resolves when the recording may start. */
  readonly started: Promise<void>
  private readonly timer: NodeJS.Timeout
  private resolve: () => void = () => undefined

  constructor(requestBytes: number) {
    this.isLarge = requestBytes > LARGE_REQUEST_BYTES
    this.started = new Promise<void>((resolve) => {
      this.resolve = resolve
    })
    this.timer = setTimeout(
      () => {
        this.resolve()
      },
      this.isLarge ? RECORD_LARGE_AFTER_MS : RECORD_AFTER_MS,
    )
  }

  /** Called after the first bytes of the answer were sent to the client. */
  onAnswerBegins(): void {
    if (this.isLarge) clearTimeout(this.timer)
    else this.start()
  }

  /** Starts the recording. Called after the answer was sent, or after upstream failed. */
  start(): void {
    clearTimeout(this.timer)
    this.resolve()
  }
}
