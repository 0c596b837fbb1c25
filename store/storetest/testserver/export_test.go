package testserver

// Swallowing is how many replies p has still to swallow.
func (p *Proxy) Swallowing() int { return p.current().swallow }
