/** Remembers which erasures have begun and are not completed. The events decide; this finds them. */
export interface PendingErasure {
  readonly erasureId: string
  readonly conversationId: string
  /** The request as JSON, without personal data. */
  readonly request: string
}

export interface PendingErasures {
  list(): Promise<readonly PendingErasure[]>
  add(pending: readonly PendingErasure[]): Promise<void>
  remove(pending: PendingErasure): Promise<void>
}
