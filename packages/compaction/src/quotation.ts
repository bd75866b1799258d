/** What stands around a line and makes it somebody else's text. Whether it ends is known only behind it. */
export interface Quotation {
  readonly kind: 'fence' | 'other'
  readonly isEnded: boolean
}

/** Such as one that ends with its paragraph, whatever follows. */
export const endedQuotation: Quotation = Object.freeze({ kind: 'other', isEnded: true })
