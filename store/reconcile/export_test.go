package reconcile

// Remember bounds a generation of notes, before the first pass.
func (r *Reconciler) Remember(size int) { r.known = newMemory(size) }

// Notes is how many keys r has notes of.
func (r *Reconciler) Notes() int { return len(r.known.young) + len(r.known.old) }
